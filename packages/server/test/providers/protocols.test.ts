/**
 * Responses that the mock cannot produce, from small servers of our own that follow the providers' documentation: cuts for
 * every text interface, Gemini images, Replicate, and fal and Veo jobs whose states and files misbehave.
 */
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/platform/json.ts";
import { createGuardedFetch } from "../../src/files/index.ts";
import { callOf, entryOf, IMAGE } from "./adapter-rig.ts";
import { openAllProviders } from "./all-providers.ts";
import { json, type Received } from "./own-server.ts";
import {
  chatAnswer,
  falImage,
  falQueued,
  geminiAnswer,
  messagesAnswer,
  MP4,
  openaiImages,
  PNG,
  replicatePrediction,
  responsesAnswer,
} from "./provider-answers.ts";

const chat = { ...entryOf("openai/gpt-5.2"), api: "chat" as const };
test.each([
  ["OpenAI Responses", "openai/gpt-5.2", responsesAnswer({ incomplete: "max_output_tokens" })],
  ["OpenAI chat", chat, chatAnswer({ finish: "length" })],
  ["Anthropic", "anthropic/claude-sonnet-5", messagesAnswer({ stop: "max_tokens" })],
  ["Gemini", "google/gemini-2.5-flash", geminiAnswer({ finish: "MAX_TOKENS" })],
] as const)("text of %s that the output limit cut is a success with a flag", async (_name, model, cut) => {
  const { send } = await openAllProviders((_request, response) => json(response, cut));
  expect(await send(model)).toMatchObject({ kind: "text", truncated: true });
});

test.each([
  ["openai/gpt-5.2", { ...responsesAnswer({ incomplete: "max_output_tokens" }), output: [] }],
  [chat, chatAnswer({ text: "", finish: "length" })],
  ["anthropic/claude-sonnet-5", { ...messagesAnswer({ stop: "max_tokens" }), content: [] }],
  ["google/gemini-2.5-flash", { candidates: [{ content: { role: "model" }, finishReason: "MAX_TOKENS", index: 0 }] }],
] as const)("a limit that reasoning used up is reported as such (%#)", async (model, answer) => {
  const { send } = await openAllProviders((_request, response) => json(response, answer));
  expect(await send(model)).toMatchObject({ kind: "failed", cause: "reasoned_only", retry: "never" });
});

test("a prompt that Gemini blocks is a refusal", async () => {
  const { send } = await openAllProviders((_request, response) =>
    json(response, geminiAnswer({ blockReason: "PROHIBITED_CONTENT" })),
  );
  expect(await send("google/gemini-2.5-flash")).toMatchObject({ kind: "refused" });
});

const ZEROS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
test.each([undefined, ZEROS])("a text whose tokens are counted as %j is estimated from its bytes", async (usage) => {
  const { send } = await openAllProviders((_request, response) => json(response, chatAnswer({ usage })));
  expect(await send(chat)).toMatchObject({ usage: { isEstimated: true, inputTokens: 9, outputTokens: 4 } });
});

test.each([-5, 1e300, "many"])("a count of %j tokens charges nothing absurd", async (count) => {
  const usage = { prompt_tokens: count, completion_tokens: count, total_tokens: count };
  const { send } = await openAllProviders((_request, response) => json(response, chatAnswer({ usage })));
  const result = await send(chat);
  const { inputTokens = 0, outputTokens = 0 } = "usage" in result && result.usage !== null ? result.usage : {};
  expect(Math.max(inputTokens, outputTokens)).toBeLessThanOrEqual(1_000_000_000);
  expect(Math.min(inputTokens, outputTokens)).toBeGreaterThanOrEqual(0);
});

describe("images of Gemini", () => {
  test("arrive as bytes, from text alone or with input images", async () => {
    const { send, server } = await openAllProviders((_request, response) =>
      json(response, geminiAnswer({ isImage: true })),
    );
    expect(await send("google/gemini-nano-banana-2.1")).toMatchObject({
      kind: "image",
      usage: { images: 1, inputTokens: 11 },
    });
    expect(await send("google/gemini-nano-banana-2.1", [IMAGE])).toMatchObject({
      kind: "image",
      bytes: new Uint8Array(PNG),
    });
    expect(server.received[1]?.body).toContain(PNG.toString("base64"));
  });

  test("that are missing from the response are a failure, and not requested again", async () => {
    const { send } = await openAllProviders((_request, response) => json(response, geminiAnswer()));
    expect(await send("google/gemini-nano-banana-2.1")).toMatchObject({
      kind: "failed",
      cause: "empty",
      retry: "never",
    });
  });
});

/** A fal job: the response to each poll, and then the result. */
function falQueue(states: readonly unknown[], result: (response: ServerResponse, url: string) => void) {
  let asked = 0;
  return (request: Received, response: ServerResponse, url: string): void => {
    if (request.method === "POST") return json(response, falQueued(`${url}/fal-ai/flux/requests/1`));
    if (!request.path.endsWith("/status")) return result(response, url);
    json(response, states[Math.min(asked, states.length - 1)]);
    asked += 1;
  };
}

describe("images of Replicate", () => {
  const answerWith = (states: { status: string; output?: string | null; error?: string }[]) => {
    let asked = 0;
    return (request: Received, response: ServerResponse, url: string): void => {
      const isStart = request.method === "POST";
      const state = isStart ? { status: "starting" } : states[Math.min(asked, states.length - 1)];
      if (!isStart) asked += 1;
      json(
        response,
        replicatePrediction(
          `${url}/v1/predictions/p1`,
          state?.status ?? "",
          state !== undefined && "output" in state ? (state.output ?? null) : null,
          state !== undefined && "error" in state ? (state.error ?? null) : null,
        ),
      );
    };
  };

  test("are waited for, and their file is fetched without the key if it is elsewhere", async () => {
    const states = [{ status: "succeeded", output: "https://replicate.delivery/out.png" }];
    const { send, downloads, server } = await openAllProviders(answerWith(states));
    expect(await send("replicate/flux-schnell")).toMatchObject({ kind: "image", bytes: new Uint8Array(PNG) });
    expect(downloads).toEqual(["https://replicate.delivery/out.png"]);
    expect(server.received.map(({ method }) => method)).toEqual(["POST", "GET"]);
    expect(server.received[1]?.headers.authorization).toBe("Bearer secret-key");
  });

  test("are ordered to end by themselves once nobody waits for them", async () => {
    const { server, send } = await openAllProviders(answerWith([{ status: "processing" }]));
    expect(await send("replicate/flux-schnell")).toEqual({ kind: "pending" });
    expect(server.received[0]?.headers["cancel-after"]).toBe("300s");
    expect(server.received[0]?.headers["prefer"]).toBeUndefined(); // its name would arrive too late to be stored
  });

  test.each(["failed", "canceled", "aborted"])("that are %s are over at once", async (status) => {
    const { send } = await openAllProviders(answerWith([{ status }]));
    expect(await send("replicate/flux-schnell")).toMatchObject({ cause: "job_failed", retry: "never" });
  });

  test("that Replicate no longer knows fail at once", async () => {
    const { send } = await openAllProviders(({ method }, response, url) =>
      method === "POST"
        ? json(response, replicatePrediction(`${url}/v1/predictions/p1`, "starting", null), 201)
        : json(response, { detail: "Not found." }, 404),
    );
    expect(await send("replicate/flux-schnell")).toMatchObject({ cause: "job_failed", retry: "never" });
  });

  test("that failed for a reason other than their content are a failure", async () => {
    const broken = await openAllProviders(
      answerWith([{ status: "failed", error: "CUDA out of memory at /root/secret" }]),
    );
    const result = await broken.send("replicate/flux-schnell");
    expect(result).toMatchObject({ kind: "failed", cause: "job_failed", retry: "never" });
    expect(JSON.stringify(result)).not.toContain("secret");
  });
});

test("fal is reached at the operator's address with its key, and a file there is fetched from there", async () => {
  const done = falQueue([{ status: "COMPLETED" }], (response, url) => json(response, falImage(`${url}/files/1.png`)));
  const { send, server, downloads } = await openAllProviders((request, response, url) => {
    if (request.path === "/files/1.png") response.end(PNG);
    else done(request, response, url);
  });
  expect(await send("fal/flux-dev")).toMatchObject({ kind: "image", bytes: new Uint8Array(PNG) });
  expect(downloads).toEqual([]);
  const [first] = server.received;
  expect([first?.path, first?.headers.authorization]).toEqual(["/fal-ai/flux/dev", "Key secret-key"]);
});

describe("images of fal", () => {
  const falTypes = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  const failWith = (...answer: [status: number, body: unknown, headers?: Record<string, string>]) =>
    openAllProviders(falQueue([{ status: "COMPLETED" }], (response) => falTypes(response, ...answer)));

  test("stay in its queue no longer than somebody waits for them", async () => {
    const { send, server } = await openAllProviders(falQueue([{ status: "IN_QUEUE" }], () => {}));
    expect(await send("fal/flux-schnell")).toEqual({ kind: "pending" });
    expect(server.received.map(({ path }) => path)).toEqual(["/fal-ai/flux/schnell", "/fal-ai/flux/requests/1/status"]);
    expect(server.received[0]?.headers["x-fal-request-timeout"]).toBe("300");
  });

  test("that it flagged are a refusal: no black picture is delivered", async () => {
    const flagged = (response: ServerResponse, url: string) =>
      json(response, falImage(`${url}/files/1.png`, { isNsfw: true }));
    const { send, downloads } = await openAllProviders(falQueue([{ status: "COMPLETED" }], flagged));
    expect(await send("fal/flux-schnell")).toMatchObject({ kind: "refused" });
    expect(downloads).toEqual([]);
  });

  test.each([
    [500, { detail: [{ loc: ["body"], msg: "Internal server error", type: "internal_server_error" }] }, {}],
    [503, { detail: "Runner disconnected", error_type: "runner_disconnected" }, {}],
    [504, {}, { "x-fal-error-type": "request_timeout" }],
  ])("whose result is a %i failure fail at once", async (status, body, headers) => {
    const { send } = await failWith(status, body, headers);
    expect(await send("fal/flux-schnell")).toMatchObject({ cause: "job_failed", retry: "never" });
  });

  test("whose state says that they failed fail at once", async () => {
    const state = { status: "COMPLETED", error: "Request timed out", error_type: "request_timeout" };
    const { send } = await openAllProviders(falQueue([state], (response) => falTypes(response, 200, {})));
    expect(await send("fal/flux-schnell")).toMatchObject({ cause: "job_failed", code: "request_timeout" });
  });

  test("whose result a proxy temporarily cannot deliver are requested again", async () => {
    const { send } = await failWith(502, "<html>bad gateway</html>");
    expect(await send("fal/flux-schnell")).toMatchObject({ cause: "overloaded" });
  });
});

describe("a video", () => {
  interface Job {
    readonly model: string;
    /** State requests in order; the last repeats. */
    readonly states: readonly ((response: ServerResponse, url: string) => void)[];
    readonly start: (response: ServerResponse, url: string) => void;
  }
  const run = async ({ model, states, start }: Job) => {
    let asked = 0;
    const rig = await openAllProviders((request, response, url) => {
      if (request.method === "POST") return start(response, url);
      if (request.path.includes("moved"))
        return void response.writeHead(302, { location: "https://storage.googleapis.com/v.mp4" }).end();
      if (request.path.includes(".mp4")) return void response.end(MP4);
      states[Math.min(asked, states.length - 1)]?.(response, url);
      asked += 1;
    });
    const call = callOf(entryOf(model));
    const started = await rig.adapter.startJob(call, rig.signal);
    const operation: JsonValue = started.kind === "started" ? started.operation : null;
    const video = { call, operation };
    const poll = () => rig.pollJob(video);
    return { ...rig, poll, video, operation, started };
  };
  const fal = (states: Job["states"]): Job => ({
    model: "fal/luma-ray-2",
    states,
    start: (response, url) => json(response, falQueued(`${url}/fal-ai/luma-ray-2/requests/1`)),
  });
  const veo = (states: Job["states"]): Job => ({
    model: "google/veo",
    states,
    start: (response) => json(response, { name: "models/veo/operations/1" }),
  });
  const veoDone = (path: string) => (response: ServerResponse, url: string) =>
    json(response, {
      name: "models/veo/operations/1",
      done: true,
      response: { generateVideoResponse: { generatedSamples: [{ video: { uri: `${url}${path}` } }] } },
    });
  const replicate = (states: Job["states"]): Job => ({
    model: "replicate/minimax-video-01",
    states,
    start: (response, url) => json(response, replicatePrediction(`${url}/v1/predictions/p1`, "starting", null), 201),
  });

  test("from fal is pending while its queue says so, and its file is fetched from another host without the key", async () => {
    const inProgress = (response: ServerResponse) => json(response, { status: "IN_PROGRESS" }, 202);
    const completed = (response: ServerResponse) => json(response, { status: "COMPLETED" });
    const done = (response: ServerResponse) =>
      json(response, { video: { url: "https://v3.fal.media/1.mp4", content_type: "video/mp4" } });
    const { poll, downloads } = await run(fal([inProgress, completed, done]));
    expect(await poll()).toEqual({ kind: "pending" });
    expect(await poll()).toMatchObject({ kind: "video", mediaType: "video/mp4", usage: { seconds: 5 } });
    expect(downloads).toEqual(["https://v3.fal.media/1.mp4"]);
  });

  test.each([
    ["fal", fal],
    ["Veo", veo],
    ["Replicate", replicate],
  ])("from %s whose state temporarily cannot be polled is not given up", async (_name, job) => {
    const { poll } = await run(job([(response) => json(response, { error: "busy" }, 503)]));
    expect(await poll()).toMatchObject({ kind: "failed", cause: "overloaded", retry: "safe" });
  });

  test.each([
    ["fal", fal],
    ["Veo", veo],
    ["Replicate", replicate],
  ])(
    "from %s that is being polled when its run is canceled: the poll ends and its connection closes",
    async (_name, job) => {
      const reached = Promise.withResolvers<void>();
      const hungUp = Promise.withResolvers<void>();
      const silent = (response: ServerResponse): void => {
        response.once("close", () => hungUp.resolve());
        reached.resolve();
      };
      const { adapter, video } = await run(job([silent]));
      const cancel = new AbortController();
      const asking = adapter.pollJob(video, cancel.signal);
      await reached.promise;
      const reason = new Error("canceled");
      cancel.abort(reason);
      await expect(asking).rejects.toBe(reason);
      await hungUp.promise;
    },
  );

  test("from Veo is fetched from the provider's own address with its key, which is not part of the operation", async () => {
    const { poll, downloads, server, operation } = await run(veo([veoDone("/v1beta/files/v.mp4:download?alt=media")]));
    const result = await poll();
    expect(result).toMatchObject({ kind: "video", usage: { seconds: 8 } });
    if (result.kind !== "video" || !("path" in result.content)) throw new Error("the video is not on disk");
    expect((await readFile(result.content.path)).equals(MP4)).toBe(true);
    expect(server.received.at(-1)?.path).toContain("key=secret-key");
    expect(JSON.stringify(operation)).not.toContain("secret-key");
    expect(downloads).toEqual([]);
  });

  test("from Veo whose address redirects is fetched from there without the key", async () => {
    const { poll, downloads } = await run(veo([veoDone("/v1beta/files/moved")]));
    expect(await poll()).toMatchObject({ kind: "video" });
    expect(downloads).toEqual(["https://storage.googleapis.com/v.mp4"]);
  });

  test("from Replicate goes from starting to processing to its file", async () => {
    const { poll, downloads } = await run(
      replicate([
        (response, url) => json(response, replicatePrediction(`${url}/v1/predictions/p1`, "processing", null)),
        (response, url) =>
          json(
            response,
            replicatePrediction(`${url}/v1/predictions/p1`, "succeeded", "https://replicate.delivery/o.mp4"),
          ),
      ]),
    );
    expect(await poll()).toEqual({ kind: "pending" });
    expect(await poll()).toMatchObject({ kind: "video", usage: { images: 1, seconds: 0 } });
    expect(downloads).toEqual(["https://replicate.delivery/o.mp4"]);
  });

  test("from Replicate that failed, was canceled, or never began is over", async () => {
    for (const status of ["failed", "canceled", "aborted"]) {
      const { poll } = await run(
        replicate([
          (response, url) => json(response, replicatePrediction(`${url}/v1/predictions/p1`, status, null, "boom")),
        ]),
      );
      expect(await poll()).toMatchObject({ kind: "failed", cause: "job_failed", retry: "never" });
    }
  });
});

describe("embeddings", () => {
  const vectors = (response: ServerResponse, count: number): void => {
    const data = Array.from({ length: count }, (_, index) => ({
      object: "embedding",
      index,
      embedding: [index, 1, 2],
    }));
    json(response, { object: "list", data, model: "m", usage: { prompt_tokens: 1, total_tokens: 1 } });
  };

  test("from OpenAI arrive one per text, in order, with 512 dimensions requested", async () => {
    const { adapter, signal, server } = await openAllProviders((_request, response) => vectors(response, 2));
    const model = { provider: "openai", providerModel: "text-embedding-3-small", server: null };
    expect(await adapter.embedTexts(model, ["a", "b"], signal)).toEqual([
      Float32Array.of(0, 1, 2),
      Float32Array.of(1, 1, 2),
    ]);
    expect(JSON.parse(server.received[0]?.body ?? "")).toMatchObject({ input: ["a", "b"], dimensions: 512 });
  });

  test("from Gemini arrive one per text", async () => {
    const answer = { embeddings: [{ values: [1, 2] }, { values: [3, 4] }] };
    const { adapter, signal, server } = await openAllProviders((_request, response) => json(response, answer));
    const model = { provider: "google", providerModel: "gemini-embedding-001", server: null };
    expect(await adapter.embedTexts(model, ["a", "b"], signal)).toEqual([Float32Array.of(1, 2), Float32Array.of(3, 4)]);
    expect(server.received[0]?.body).toContain('"outputDimensionality":512');
  });

  test("from the operator's own server are requested without a length, which it may not support", async () => {
    const { adapter, signal, server } = await openAllProviders((_request, response) => vectors(response, 1));
    const model = { provider: "home", providerModel: "nomic-embed-text", server: { baseURL: `${server.url}/v1` } };
    await adapter.embedTexts(model, ["a"], signal);
    expect(server.received[0]?.path).toBe("/v1/embeddings");
    expect(server.received[0]?.body).not.toContain("dimensions");
  });

  test("that fail reject without the provider's error message", async () => {
    const { adapter, signal } = await openAllProviders((_request, response) =>
      json(response, { error: { message: "sk-secret" } }, 500),
    );
    const model = { provider: "openai", providerModel: "text-embedding-3-small", server: null };
    await expect(adapter.embedTexts(model, ["a"], signal)).rejects.toThrow(
      "The embeddings model failed: overloaded, HTTP 500.",
    );
  });
});

describe("a mask", () => {
  const images = [IMAGE, { ...IMAGE, isMask: true }];

  test("for OpenAI is sent beside its image", async () => {
    const { send, server } = await openAllProviders((_request, response) => json(response, openaiImages()));
    expect(await send("openai/gpt-image-2.6-flare", images)).toMatchObject({ kind: "image" });
    const names = Array.from(server.received[0]?.body.matchAll(/name="([^"]+)"/g) ?? [], ([, name = ""]) => name);
    expect(server.received[0]?.path).toBe("/v1/images/edits");
    expect(names.filter((name) => /image|mask/.test(name)).sort()).toEqual(["image", "mask"]);
  });

  test.each([
    ["fal/flux-kontext-pro", ["image_url", "mask_url"]],
    ["replicate/flux-dev", ["image", "mask"]],
  ])("for %s is a separate member", async (model, members) => {
    const { send, server } = await openAllProviders((_request, response, url) =>
      json(response, {
        ...falQueued(`${url}/x`),
        ...replicatePrediction(`${url}/v1/predictions/p1`, "starting", null),
      }),
    );
    await send(model, images);
    const body = JSON.parse(server.received[0]?.body ?? "") as { input?: object };
    expect(Object.keys(body.input ?? body).filter((name) => /image(?!_size|s)|mask/.test(name))).toEqual(members);
  });
});

describe("a picture with an unusable address", () => {
  test.each(["http://10.0.0.1/1.png", "https://localhost/1.png", "not a url", "ftp://example.com/1.png"])(
    "is reported as such and says nothing about the model: %s",
    async (address) => {
      const guarded = { download: createGuardedFetch() };
      const result = falQueue([{ status: "COMPLETED" }], (response) => json(response, falImage(address)));
      const fal = await openAllProviders(result, {}, guarded);
      const unusable = { kind: "failed", cause: "image_unusable", retry: "never", breaker: "ignored" };
      expect(await fal.send("fal/flux-schnell")).toMatchObject(unusable);
      const succeeded = (_request: Received, response: ServerResponse, url: string) =>
        json(response, replicatePrediction(`${url}/v1/predictions/p1`, "succeeded", address), 201);
      const replicate = await openAllProviders(succeeded, {}, guarded);
      expect(await replicate.send("replicate/flux-schnell")).toMatchObject(unusable);
    },
  );
});
