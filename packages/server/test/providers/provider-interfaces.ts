/** Each interface of each provider, with responses in the provider's own format; matrix.test.ts runs the same cases for every row. */
import type { CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import { entryOf } from "./adapter-rig.ts";
import { ELSEWHERE, OPENROUTER, type Reply } from "./all-providers.ts";
import { json } from "./own-server.ts";
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

/** One interface of one provider: how it is called, and what it returns in each case. */
export interface Interface {
  readonly entry: CatalogueEntry;
  /** Where it is called. */
  readonly path: string;
  /** What the operator has set, besides the key. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The same model, or a related one that accepts images; null: the provider has none. */
  readonly withImage: CatalogueEntry | null;
  readonly ok: Reply;
  /** The provider's own way of declining. */
  readonly declined: Reply;
  /** Well-formed JSON with the right structure but a wrong value. */
  readonly wrong: readonly Reply[];
  /** The format of an error body. */
  readonly error: (words: string) => unknown;
  readonly usage: Record<string, unknown>;
}

export const always =
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
/** The model as a list at OPENAI_BASE_URL names it. */
const openRouter = { ...chat, provider: "compatible", server: { baseURL: OPENROUTER } };
const openRouterError = (words: string) => ({ error: { code: 502, message: words, metadata: { provider_name: "x" } } });
/** From its documentation, "Errors and debugging": a flagged input is a 403, like a key without permission. */
const OPENROUTER_DECLINED = {
  error: {
    code: 403,
    message: "openai/gpt-5.2 requires moderation. Your input was flagged.",
    metadata: { reasons: ["violence"], flagged_input: "…", provider_name: "OpenAI", model_slug: "openai/gpt-5.2" },
  },
};
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
/** The start, the state, and then the result, which answers the last request. */
const falJob =
  (result: Reply): Reply =>
  (request, response, url) => {
    if (request.method === "POST") return json(response, startedFal(url));
    if (request.path.endsWith("/status")) return json(response, { status: "COMPLETED", request_id: "1" });
    return result(request, response, url);
  };
const falFile = (file: Buffer, result: (url: string) => unknown): Reply =>
  falJob(({ path }, response, url) => (path.includes("/files/") ? response.end(file) : json(response, result(url))));

/** A job that started normally and has this state. */
const badState =
  (value: unknown, started: (url: string) => unknown): Reply =>
  ({ method }, response, url) =>
    json(response, method === "POST" ? started(url) : value, method === "POST" ? 201 : 200);
const badStates = (values: readonly unknown[], started: (url: string) => unknown): Reply[] =>
  values.map((value) => badState(value, started));
const startedReplicate = (url: string) => replicatePrediction(`${url}/v1/predictions/p1`, "starting", null);
const startedFal = (url: string) => falQueued(`${url}/jobs/1`);
const startedVeo = () => ({ name: "models/veo/operations/1" });
const chatWith = (content: unknown) => ({ ...chatAnswer(), choices: [{ index: 0, message: content }] });
/** What servers with the chat interface have in common. */
const CHAT = {
  ok: always(chatAnswer()),
  declined: always(chatAnswer({ finish: "content_filter" })),
  wrong: [
    always({ ...chatAnswer(), choices: [] }),
    always({ ...chatAnswer(), choices: {} }),
    always(chatWith(7)),
    always(chatWith({ role: "assistant", content: { text: "hi" } })),
  ],
  error: openaiError,
  usage: TEXT_USAGE,
};
const REPLICATE_WRONG = [
  { status: "succeeded" },
  replicatePrediction("x", "succeeded", "not a url"),
  { status: 7 },
  null,
];

export const INTERFACES: Readonly<Record<string, Interface>> = {
  "text of OpenAI Responses": {
    entry: entryOf("openai/gpt-5.2"),
    path: "/v1/responses",
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
    path: "/v1/chat/completions",
    withImage: chat,
    ...CHAT,
  },
  "text of OpenAI at another address": {
    entry: entryOf("openai/gpt-5.2"),
    path: "/v1/chat/completions",
    settings: { OPENAI_BASE_URL: ELSEWHERE },
    withImage: entryOf("openai/gpt-5.2"),
    ...CHAT,
  },
  "text of a compatible server": {
    entry: { ...chat, provider: "home", server: { baseURL: "https://api.openai.com/v1" } },
    path: "/v1/chat/completions",
    withImage: { ...chat, provider: "home", server: { baseURL: "https://api.openai.com/v1" } },
    ...CHAT,
    declined: always({ error: { message: "no", code: "content_policy_violation" } }, 400),
  },
  "text of OpenRouter": {
    entry: openRouter,
    path: "/api/v1/chat/completions",
    settings: { OPENAI_BASE_URL: OPENROUTER },
    withImage: openRouter,
    ...CHAT,
    declined: always(OPENROUTER_DECLINED, 403),
    error: openRouterError,
  },
  "text of Anthropic": {
    entry: entryOf("anthropic/claude-sonnet-5"),
    path: "/v1/messages",
    withImage: entryOf("anthropic/claude-sonnet-5"),
    ok: always(messagesAnswer()),
    declined: always(messagesAnswer({ stop: "refusal" })),
    wrong: [
      always({ ...messagesAnswer(), content: 7 }),
      always({ ...messagesAnswer(), content: [{ type: "text", text: 7 }] }),
    ],
    error: anthropicError,
    usage: TEXT_USAGE,
  },
  "text of Gemini": {
    entry: entryOf("google/gemini-2.5-flash"),
    path: "/v1beta/models/gemini-2.5-flash:generateContent",
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
    entry: entryOf("openai/gpt-image-2"),
    path: "/v1/images/generations",
    withImage: entryOf("openai/gpt-image-2"),
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
    entry: entryOf("google/gemini-nano-banana-2.1"),
    path: "/v1beta/models/gemini-nano-banana-2.1:generateContent",
    withImage: entryOf("google/gemini-nano-banana-2.1"),
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
    path: "/fal-ai/flux/schnell",
    withImage: entryOf("fal/flux-kontext-pro"),
    ok: falFile(PNG, (url) => falImage(`${url}/files/1.png`)),
    declined: falJob(FAL_DECLINED),
    wrong: [
      ...badStates([null, {}, { status: 7 }], startedFal),
      ...[{ images: [] }, falImage("not a url"), { images: [{ url: 7 }] }].map((value) => falJob(always(value))),
    ],
    error: falError,
    usage: { images: 1 },
  },
  "an image of Replicate": {
    entry: entryOf("replicate/flux-schnell"),
    path: "/v1/models/black-forest-labs/flux-schnell/predictions",
    withImage: entryOf("replicate/flux-2-pro"),
    ok: replicateJob(PNG),
    declined: replicateJob(PNG, { error: "NSFW content detected. Try running it again." }),
    wrong: badStates(REPLICATE_WRONG, startedReplicate),
    error: replicateError,
    usage: { images: 1 },
  },
  "a video of Veo": {
    entry: entryOf("google/veo"),
    path: "/v1beta/models/veo-3.1-fast-generate-preview:predictLongRunning",
    withImage: entryOf("google/veo"),
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
    path: "/fal-ai/luma-dream-machine/ray-2",
    withImage: null,
    ok: falFile(MP4, (url) => ({ video: { url: `${url}/files/1.mp4`, content_type: "video/mp4" } })),
    declined: falJob(FAL_DECLINED),
    wrong: [
      ...badStates([null, {}], startedFal),
      ...[{ video: 7 }, { video: { url: "not a url" } }, {}].map((value) => falJob(always(value))),
    ],
    error: falError,
    usage: { images: 1, seconds: 5 },
  },
  "a video of Replicate": {
    entry: entryOf("replicate/minimax-video-01"),
    path: "/v1/models/minimax/video-01/predictions",
    withImage: entryOf("replicate/wan-2.2-i2v-fast"),
    ok: replicateJob(MP4),
    declined: replicateJob(MP4, { error: "The input or output was flagged as sensitive. (E005)" }),
    wrong: badStates(REPLICATE_WRONG, startedReplicate),
    error: replicateError,
    usage: { images: 1 },
  },
};
