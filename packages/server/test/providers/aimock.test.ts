/**
 * The adapter against @copilotkit/aimock over real HTTP: the same cases for every provider interface that it supports.
 * Its journal drops images and reasoning; wire.test.ts records complete requests.
 */
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTransport } from "../../src/models/providers/transport.ts";
import type { ModelAdapter } from "../../src/models/ai-sdk/model-adapter.ts";
import { callOf, createRig, entryOf, IMAGE } from "./adapter-rig.ts";
import { aliasesTo } from "./all-providers.ts";
import { PNG } from "./provider-answers.ts";

const mock = new LLMock({ port: 0 });
beforeAll(() => mock.start());
afterAll(() => mock.stop());
beforeEach(() => {
  mock.reset();
});

const PROMPT = "Describe a tea label.";

/** OpenAI's own address also leads to the mock, since no setting can replace it while Responses is used. */
function rig() {
  const secrets = {
    ANTHROPIC_BASE_URL: mock.url,
    GOOGLE_GENERATIVE_AI_BASE_URL: mock.url,
    FAL_BASE_URL: `${mock.url}/fal`,
    HOME_BASE: `${mock.url}/v1`,
  };
  const openai = new Map([["https://api.openai.com", mock.url]]);
  return createRig(secrets, {
    connect: (options) => createTransport({ ...options, aliases: aliasesTo(options, openai) }),
  });
}

const home = { ...entryOf("openai/gpt-5.2"), provider: "home", api: "chat" as const };
const TEXT_MODELS = [
  ["OpenAI Responses", () => entryOf("openai/gpt-5.2")],
  ["OpenAI chat", () => ({ ...entryOf("openai/gpt-5.2"), api: "chat" as const })],
  ["a compatible server", () => ({ ...home, server: { baseURL: `${mock.url}/v1` } })],
  ["Anthropic", () => entryOf("anthropic/claude-sonnet-5")],
  ["Gemini", () => entryOf("google/gemini-2.5-flash")],
] as const;

describe.each(TEXT_MODELS)("text of %s", (_name, entry) => {
  const send = async (change: Parameters<typeof callOf>[1] = {}) => {
    const { adapter, signal } = rig();
    return adapter.callModel(callOf(entry(), { maxOutputTokens: 100, ...change }), signal);
  };

  test("arrives with the provider's own token counts", async () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 7,
      total_tokens: 19,
      input_tokens: 12,
      output_tokens: 7,
      promptTokenCount: 12,
      candidatesTokenCount: 7,
      totalTokenCount: 19,
    };
    mock.onMessage(PROMPT, { content: "Green tea.", usage });
    expect(await send()).toMatchObject({
      kind: "text",
      text: "Green tea.",
      truncated: false,
      usage: { inputTokens: 12, outputTokens: 7, isEstimated: false, images: 0 },
    });
  });

  test("is also answered with an input image", async () => {
    mock.onMessage(PROMPT, { content: "A red dot." });
    expect(await send({ images: [IMAGE] })).toMatchObject({ kind: "text", text: "A red dot." });
  });

  test("that is empty is a failure", async () => {
    mock.onMessage(PROMPT, { content: "" });
    expect(await send()).toMatchObject({ kind: "failed", cause: "empty", retry: "never" });
  });

  test.each([
    [429, "rate_limited", "safe"],
    [500, "overloaded", "safe"],
    [503, "overloaded", "safe"],
    [400, "bad_request", "never"],
    [401, "credentials", "never"],
  ])("that gets a %i is %s, retry %s", async (status, cause, retry) => {
    mock.nextRequestError(status, { message: "key sk-secret is wrong", type: "error" });
    const result = await send();
    expect(result).toMatchObject({ kind: "failed", cause, retry, httpStatus: status });
    expect(JSON.stringify(result)).not.toContain("sk-secret");
  });

  test("is aborted at once when it is canceled", async () => {
    mock.onMessage(PROMPT, { content: "x" }, { chaos: { latencyMs: 20_000 } });
    const { adapter } = rig();
    const cancel = new AbortController();
    const call = adapter.callModel(callOf(entry()), cancel.signal);
    const reason = new Error("canceled");
    cancel.abort(reason);
    await expect(call).rejects.toBe(reason);
  });
});

describe("images of OpenAI", () => {
  const image = { image: { b64Json: PNG.toString("base64") } };
  const send = (adapter: ModelAdapter, images = [IMAGE]) =>
    adapter.callModel(
      callOf(entryOf("openai/gpt-image-2"), { images, instructions: "" }),
      new AbortController().signal,
    );

  test("are generated without and edited with input images", async () => {
    mock.onImage(PROMPT, image);
    const { adapter } = rig();
    expect(await send(adapter, [])).toMatchObject({ kind: "image", mediaType: "image/png", usage: { images: 1 } });
    expect(await send(adapter)).toMatchObject({ kind: "image", bytes: new Uint8Array(PNG) });
    expect(mock.getRequests().map(({ path }) => path)).toEqual(["/v1/images/generations", "/v1/images/edits"]);
  });

  test("that break on the way are never requested again", async () => {
    mock.on({ endpoint: "image" }, image, { chaos: { disconnectRate: 1 } });
    expect(await send(rig().adapter, [])).toMatchObject({ cause: "network", retry: "never" });
  });
});

describe("videos of Veo", () => {
  test("are started, polled, and fetched without the key from an address that is not the provider's", async () => {
    mock.onVideo(PROMPT, { video: { id: "v1", status: "completed", b64: PNG.toString("base64") } });
    const entry = entryOf("google/veo");
    const { adapter, pollJob, signal, downloads } = rig();
    const call = callOf(entry, { instructions: "" });
    const started = await adapter.startJob(call, signal);
    expect(started).toMatchObject({ kind: "started" });
    const operation = started.kind === "started" ? started.operation : null;
    const poll = { call, operation: JSON.parse(JSON.stringify(operation)) as typeof operation };
    let result = await pollJob(poll);
    for (let question = 0; result.kind === "pending" && question < 10; question += 1) result = await pollJob(poll);
    expect(result).toMatchObject({ kind: "video", mediaType: "video/mp4", usage: { seconds: 8, images: 1 } });
    expect(downloads).toEqual(["https://generativelanguage.googleapis.com/v1beta/files/placeholder"]);
  });
});

describe("fal", () => {
  const make = async (model: string) => {
    const { adapter, pollJob, signal, downloads } = rig();
    const call = callOf(entryOf(model));
    const started = await adapter.startJob(call, signal);
    expect(started).toMatchObject({ kind: "started" });
    const operation = started.kind === "started" ? started.operation : null;
    let result = await pollJob({ call, operation });
    for (let question = 0; result.kind === "pending" && question < 10; question += 1)
      result = await pollJob({ call, operation });
    return { downloads, result };
  };

  test("generates an image whose file is fetched without the key", async () => {
    mock.onFalQueue(/./, {
      images: [{ url: "https://v3.fal.media/1.png", width: 1, height: 1, content_type: "image/png" }],
    });
    const { downloads, result } = await make("fal/flux-schnell");
    expect(result).toMatchObject({ kind: "image", bytes: new Uint8Array(PNG), usage: { images: 1 } });
    expect(downloads).toEqual(["https://v3.fal.media/1.png"]);
  });

  test("starts a video, reports its state, and names a file that is fetched without the key", async () => {
    const video = { id: "v1", status: "completed" as const, url: "https://v3.fal.media/1.mp4" };
    mock.onFalVideo(/./, { video });
    const { downloads, result } = await make("fal/luma-ray-2");
    expect(result).toMatchObject({ kind: "video", usage: { seconds: 5 } });
    expect(downloads).toEqual([video.url]);
  });
});
