/**
 * Each interface of each provider against each way of answering: what comes with and without an input image, what it
 * is counted as, and every kind of failure in the provider's own form. docs/models.md says what the other tests add.
 */
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CatalogueEntry } from "../../src/models/catalogue.ts";
import type { ModelImage, ModelResult } from "../../src/models/model-call.ts";
import type { Database } from "../../src/platform/database.ts";
import { createCaller } from "../caller-fixture.ts";
import { useTestDatabase } from "../test-database.ts";
import { callOf, catalogue, entryOf, IMAGE } from "./adapter-rig.ts";
import { openAllProviders, type Reply } from "./all-providers.ts";
import { json } from "./own-server.ts";
import {
  chatAnswer,
  falImage,
  geminiAnswer,
  messagesAnswer,
  MP4,
  openaiImages,
  PNG,
  replicatePrediction,
  responsesAnswer,
} from "./provider-answers.ts";

interface Interface {
  readonly entry: CatalogueEntry;
  /** The same, or its neighbour that takes images; null: the provider has none. */
  readonly withImage: CatalogueEntry | null;
  readonly ok: Reply;
  /** The provider declines in its own form. */
  readonly declined: Reply;
  /** Well-formed JSON of the right outline, with a wrong value in it. */
  readonly wrong: readonly Reply[];
  /** Form of an error's body. */
  readonly error: (words: string) => unknown;
  readonly usage: Record<string, unknown>;
}

const always =
  (value: unknown, status = 200): Reply =>
  (_request, response) =>
    json(response, value, status);
const TEXT_USAGE = { inputTokens: 11, cachedInputTokens: 3, outputTokens: 5, isEstimated: false };
const openaiError = (words: string) => ({ error: { message: words, type: "error", param: null, code: null } });
const anthropicError = (words: string) => ({ type: "error", error: { type: "error", message: words } });
const googleError = (words: string) => ({ error: { code: 500, message: words, status: "INTERNAL" } });
const falError = (words: string) => ({ detail: words });
const replicateError = (words: string) => ({ title: "Error", detail: words, status: 500 });
const chat = { ...entryOf("openai/gpt-5.2"), api: "chat" as const };
const CONTENT_CHECKER = "The content could not be processed because it was flagged by a content checker.";
const FAL_DECLINED = always(
  { detail: [{ loc: ["body", "prompt"], msg: CONTENT_CHECKER, type: "content_policy_violation" }] },
  422,
);

/** Files first, then the start, then its state. */
const job =
  (file: Buffer, started: (url: string) => unknown, state: (url: string) => unknown): Reply =>
  ({ method, path }, response, url) => {
    if (path.includes("/files/")) response.end(file);
    else json(response, method === "POST" ? started(url) : state(url), method === "POST" ? 201 : 200);
  };
const replicateJob = (file: Buffer, change: { error?: string } = {}): Reply => {
  const prediction = (url: string, status: string, output: string | null) =>
    replicatePrediction(`${url}/v1/predictions/p1`, status, output, change.error ?? null);
  return job(
    file,
    (url) => prediction(url, "starting", null),
    (url) =>
      change.error === undefined ? prediction(url, "succeeded", `${url}/files/1`) : prediction(url, "failed", null),
  );
};
const veoJob = (response: unknown): Reply =>
  job(
    MP4,
    () => ({ name: "models/veo/operations/1" }),
    (url) => ({
      name: "models/veo/operations/1",
      done: true,
      response: JSON.parse(JSON.stringify(response).replaceAll("URL", url)) as unknown,
    }),
  );
const falJob: Reply = job(
  MP4,
  (url) => ({ request_id: "1", response_url: `${url}/jobs/1` }),
  (url) => ({ video: { url: `${url}/files/1.mp4`, content_type: "video/mp4" } }),
);

/** Well-formed JSON that no interface answers with. */
const WRONG: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a list", []],
  ["a number", 7],
  ["an empty object", {}],
  ["an object of other names", { hello: "world" }],
];
/** Started as it should be, whose state is this. */
const badState =
  (value: unknown, started: (url: string) => unknown): Reply =>
  ({ method }, response, url) =>
    json(response, method === "POST" ? started(url) : value, method === "POST" ? 201 : 200);
const badStates = (values: readonly unknown[], started: (url: string) => unknown): Reply[] =>
  values.map((value) => badState(value, started));
const startedReplicate = (url: string) => replicatePrediction(`${url}/v1/predictions/p1`, "starting", null);
const startedFal = (url: string) => ({ request_id: "1", response_url: `${url}/jobs/1` });
const startedVeo = () => ({ name: "models/veo/operations/1" });
const chatWith = (content: unknown) => ({ ...chatAnswer(), choices: [{ index: 0, message: content }] });
const CHAT_WRONG = [
  always({ ...chatAnswer(), choices: [] }),
  always({ ...chatAnswer(), choices: {} }),
  always(chatWith(7)),
  always(chatWith({ role: "assistant", content: { text: "hi" } })),
];
const REPLICATE_WRONG = [
  { status: "succeeded" },
  replicatePrediction("x", "succeeded", "not a url"),
  { status: 7 },
  null,
];

const INTERFACES: Readonly<Record<string, Interface>> = {
  "text of OpenAI Responses": {
    entry: entryOf("openai/gpt-5.2"),
    withImage: entryOf("openai/gpt-5.2"),
    ok: always(responsesAnswer()),
    declined: always(responsesAnswer({ incomplete: "content_filter" })),
    wrong: [
      always({ ...responsesAnswer(), output: 7 }),
      always({ ...responsesAnswer(), output: [null] }),
      always({ ...responsesAnswer({ text: "" }), output: [{ type: "message" }] }),
    ],
    error: openaiError,
    usage: TEXT_USAGE,
  },
  "text of OpenAI chat": {
    entry: chat,
    withImage: chat,
    ok: always(chatAnswer()),
    declined: always(chatAnswer({ finish: "content_filter" })),
    wrong: CHAT_WRONG,
    error: openaiError,
    usage: TEXT_USAGE,
  },
  "text of a compatible server": {
    entry: { ...chat, provider: "home", server: { baseURL: "https://api.openai.com/v1" } },
    withImage: { ...chat, provider: "home", server: { baseURL: "https://api.openai.com/v1" } },
    ok: always(chatAnswer()),
    declined: always({ error: { message: "no", code: "content_policy_violation" } }, 400),
    wrong: CHAT_WRONG,
    error: openaiError,
    usage: TEXT_USAGE,
  },
  "text of Anthropic": {
    entry: entryOf("anthropic/claude-sonnet-5"),
    withImage: entryOf("anthropic/claude-sonnet-5"),
    ok: always(messagesAnswer()),
    declined: always(messagesAnswer({ stop: "refusal" })),
    wrong: [
      always({ ...messagesAnswer(), content: 7 }),
      always({ ...messagesAnswer(), content: [{ type: "text", text: 7 }] }),
      always({ ...messagesAnswer(), usage: null }),
    ],
    error: anthropicError,
    usage: TEXT_USAGE,
  },
  "text of Gemini": {
    entry: entryOf("google/gemini-2.5-flash"),
    withImage: entryOf("google/gemini-2.5-flash"),
    ok: always(geminiAnswer()),
    declined: always(geminiAnswer({ finish: "SAFETY" })),
    wrong: [
      always({ candidates: [] }),
      always({ candidates: {} }),
      always({ candidates: [{ content: { parts: [{ text: 7 }] } }] }),
    ],
    error: googleError,
    usage: TEXT_USAGE,
  },
  "an image of OpenAI": {
    entry: entryOf("openai/gpt-image-1"),
    withImage: entryOf("openai/gpt-image-1"),
    ok: always(openaiImages()),
    declined: always(
      { error: { message: "no", type: "image_generation_user_error", code: "moderation_blocked" } },
      400,
    ),
    wrong: [
      always({ data: [] }),
      always({ data: [{ b64_json: "!!!not base64" }] }),
      always({ data: [{ b64_json: 7 }] }),
      always({ data: [{ b64_json: "" }] }),
    ],
    error: openaiError,
    usage: { images: 1, inputTokens: 20, outputTokens: 272 },
  },
  "an image of Gemini": {
    entry: entryOf("google/gemini-2.5-flash-image"),
    withImage: entryOf("google/gemini-2.5-flash-image"),
    ok: always(geminiAnswer({ isImage: true })),
    declined: always(geminiAnswer({ finish: "IMAGE_SAFETY" })),
    wrong: ["!!!not base64", 7, ""].map((data) =>
      always({
        candidates: [
          {
            content: { role: "model", parts: [{ inlineData: { mimeType: "image/png", data } }] },
            finishReason: "STOP",
          },
        ],
      }),
    ),
    error: googleError,
    usage: { images: 1, inputTokens: 11, outputTokens: 5 },
  },
  "an image of fal": {
    entry: entryOf("fal/flux-schnell"),
    withImage: entryOf("fal/flux-kontext-pro"),
    ok: ({ path }, response, url) =>
      path.includes("/files/") ? response.end(PNG) : json(response, falImage(`${url}/files/1.png`)),
    declined: FAL_DECLINED,
    wrong: [always({ images: [] }), always(falImage("not a url")), always({ images: [{ url: 7 }] })],
    error: falError,
    usage: { images: 1 },
  },
  "an image of Replicate": {
    entry: entryOf("replicate/flux-schnell"),
    withImage: entryOf("replicate/flux-2-pro"),
    ok: replicateJob(PNG),
    declined: replicateJob(PNG, { error: "NSFW content detected. Try running it again." }),
    wrong: badStates(REPLICATE_WRONG, startedReplicate),
    error: replicateError,
    usage: { images: 1 },
  },
  "a video of Veo": {
    entry: entryOf("google/veo-3.1-generate-preview"),
    withImage: entryOf("google/veo-3.1-generate-preview"),
    ok: veoJob({ generateVideoResponse: { generatedSamples: [{ video: { uri: "URL/files/v.mp4" } }] } }),
    declined: veoJob({
      generateVideoResponse: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ["violates our usage guidelines"] },
    }),
    wrong: badStates(
      [
        null,
        { done: true },
        { done: true, response: { generateVideoResponse: { generatedSamples: [{ video: { uri: "not a url" } }] } } },
      ],
      startedVeo,
    ),
    error: googleError,
    usage: { images: 1, seconds: 8 },
  },
  "a video of fal": {
    entry: entryOf("fal/luma-ray-2"),
    withImage: null,
    ok: falJob,
    declined: (request, response, url) => (request.method === "POST" ? falJob : FAL_DECLINED)(request, response, url),
    wrong: badStates([null, { video: 7 }, { video: { url: "not a url" } }, {}], startedFal),
    error: falError,
    usage: { images: 1, seconds: 5 },
  },
  "a video of Replicate": {
    entry: entryOf("replicate/minimax-video-01"),
    withImage: entryOf("replicate/wan-2.2-i2v-fast"),
    ok: replicateJob(MP4),
    declined: replicateJob(MP4, { error: "The input or output was flagged as sensitive. (E005)" }),
    wrong: badStates(REPLICATE_WRONG, startedReplicate),
    error: replicateError,
    usage: { images: 1 },
  },
};

/** One call from its start to its result, as the policy makes it. */
async function make(
  reply: Reply,
  entry: CatalogueEntry,
  images: readonly ModelImage[] = [],
): Promise<ModelResult | { kind: "pending" }> {
  const { adapter, signal, pollVideo } = await openAllProviders(reply);
  const call = callOf(entry, { images });
  if (entry.modality !== "video") return adapter.callModel(call, signal);
  const started = await adapter.startVideo(call, signal);
  if (started.kind !== "started") return started;
  return pollVideo({ entry, mapping: call.mapping, operation: started.operation });
}

describe.each(Object.entries(INTERFACES))("%s", (_name, { entry, withImage, ok, declined, wrong, error, usage }) => {
  const { modality } = entry;

  test("comes, with what it is counted as", async () => {
    expect(await make(ok, entry)).toMatchObject({ kind: modality, usage });
  });

  test.runIf(withImage !== null)("comes for an input image too", async () => {
    expect(await make(ok, withImage ?? entry, [IMAGE])).toMatchObject({ kind: modality });
  });

  test("that is refused with 429 says when to come back", async () => {
    const limited: Reply = (_request, response) => {
      response.setHeader("retry-after", "7");
      json(response, error("slow down"), 429);
    };
    expect(await make(limited, entry)).toMatchObject({ cause: "rate_limited", retry: "safe", retryAfterMs: 7_000 });
  });

  test("that meets a 500 may be asked for again", async () => {
    const result = await make(always(error("boom at /srv/secret"), 500), entry);
    expect(result).toMatchObject({ kind: "failed", cause: "overloaded", retry: "safe", breaker: "counted" });
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  test("that is malformed may be asked for once more if it is a text", async () => {
    const malformed: Reply = (_request, response) =>
      response.setHeader("content-type", "application/json").end('{"choices":[{"mess');
    const retry = modality === "text" ? "once" : "never";
    expect(await make(malformed, entry)).toMatchObject({ kind: "failed", cause: "protocol", retry });
  });

  /** What was not understood may be billed: only a text is asked for again. */
  const failsForGood = expect.objectContaining({
    kind: "failed",
    retry: expect.stringMatching(modality === "text" ? /^(once|never)$/ : /^never$/) as unknown,
  }) as unknown;

  test.each(WRONG)("that is %s is a failure of the provider, and no bug", async (_what, value) => {
    expect(await make(always(value), entry)).toEqual(failsForGood);
  });

  test.each(wrong)("with a wrong value in its content is a failure of the provider, and no bug (%#)", async (reply) => {
    expect(await make(reply, entry)).toEqual(failsForGood);
  });

  test("whose connection breaks may be asked for once more if it is a text", async () => {
    const disconnected: Reply = (_request, response: ServerResponse) => response.destroy();
    const retry = modality === "text" ? "once" : "never";
    expect(await make(disconnected, entry)).toMatchObject({ kind: "failed", cause: "network", retry });
  });

  test("that the provider declines is a refusal", async () => {
    expect(await make(declined, entry)).toMatchObject({ kind: "refused" });
  });
});

test("docs/models.md lists every interface of this matrix, and no other", async () => {
  const page = await readFile(join(import.meta.dirname, "../../../../docs/models.md"), "utf8");
  const listed = Array.from(page.matchAll(/^\| ((?:text|an image|a video) of [^|]+?) \|/gm), ([, name]) => name);
  expect(listed).toEqual(Object.keys(INTERFACES));
});

describe("a provider that never answers", () => {
  let db: Database;
  useTestDatabase((opened) => (db = opened.db));

  test.each(Object.entries(INTERFACES))("%s: ends at the deadline, sent once", async (_name, { entry }) => {
    const { adapter, server } = await openAllProviders(() => {});
    const { call } = createCaller({
      db,
      adapter,
      catalogue: { ...catalogue, find: () => entry, isEnabled: () => true },
    });
    const outcome = await call({ model: entry.model, prompt: "hello", deadlineAtMs: Date.now() + 300 });
    expect(outcome).toMatchObject({ kind: "failed", message: "The model did not answer in time." });
    expect(server.received.length).toBeLessThanOrEqual(1); // 0: the deadline came before the connection
  });
});
