import { z } from "zod";
import { ALL_FEATURES, sdkSettings, type ModelSource, type Provider } from "./provider.ts";
import { wholeAnswer } from "../whole-answer.ts";

async function gemini(source: ModelSource) {
  const { createGoogle } = await import("@ai-sdk/google");
  return createGoogle(sdkSettings(source));
}

const STOPPED =
  /"(?:finishReason|blockReason)"\s*:\s*"(?:SAFETY|IMAGE_SAFETY|PROHIBITED_CONTENT|IMAGE_PROHIBITED_CONTENT|BLOCKLIST|SPII|RECITATION|IMAGE_RECITATION)"|"raiMediaFilteredReasons"\s*:\s*\[\s*"/;
const DELIVERED = /"inlineData"|"generatedSamples"/;

/** Responses without a result are short; longer ones contain a result. */
const REFUSAL_BYTES_MAX = 65_536;

/** Gemini reports a refused picture or video in a response with status 200, and the SDK only sees that nothing came. */
async function readRefusal(answer: Response): Promise<Response> {
  if (!answer.ok || Number(answer.headers.get("content-length") ?? 0) > REFUSAL_BYTES_MAX) return answer;
  const whole = await wholeAnswer(answer);
  const text = whole.content.byteLength > REFUSAL_BYTES_MAX ? "" : whole.content.toString("utf8");
  if (!STOPPED.test(text) || DELIVERED.test(text)) return whole;
  const error = { code: 400, status: "content_policy_violation", message: "stopped by a filter of the provider" };
  return Response.json({ error }, { status: 400 });
}

/**
 * Google reports per-minute and per-day limits in the same words, "check your plan and billing details", and says when to
 * retry only in the body. Null: no delay is given, or the daily quota is used up.
 */
function readRetryDelayMs(body: unknown): number | null {
  const read = quotaAnswer.safeParse(body);
  const details = read.success ? read.data.error.details : [];
  const isDaily = details.some(({ violations }) => violations?.some(({ quotaId }) => quotaId?.includes("PerDay")));
  const delay = details.flatMap(({ retryDelay }) => /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(retryDelay ?? "")?.[1] ?? [])[0];
  return delay === undefined || isDaily ? null : Math.ceil(Number(delay) * 1_000);
}

const quotaAnswer = z.object({
  error: z.object({
    details: z.array(
      z.object({
        retryDelay: z.string().optional(),
        violations: z.array(z.object({ quotaId: z.string().optional() })).optional(),
      }),
    ),
  }),
});

/** Absent if nothing was searched for. */
const grounding = z.object({
  google: z.object({
    groundingMetadata: z.object({ webSearchQueries: z.array(z.string()).nullish() }).nullish(),
  }),
});

export const google: Provider = {
  id: "google",
  settings: { key: "GOOGLE_GENERATIVE_AI_API_KEY", baseUrl: "GOOGLE_GENERATIVE_AI_BASE_URL" },
  address: { baseUrl: "https://generativelanguage.googleapis.com/v1beta", fixed: null },
  apis: null,
  isSimulated: false,
  models: {
    text: async (source) => (await gemini(source))(source.providerModel),
    image: async (source) => (await gemini(source)).image(source.providerModel),
    video: async (source) => (await gemini(source)).video(source.providerModel),
  },
  textFeatures: () => ({ ...ALL_FEATURES, stopMax: 5 }),
  webSearch: {
    ask: () => ({ tool: { id: "google.google_search", args: {} } }), // the number of searches cannot be limited
    count: ({ providerMetadata }) => {
      const read = grounding.safeParse(providerMetadata);
      return read.success ? (read.data.google.groundingMetadata?.webSearchQueries?.length ?? 0) : null;
    },
  },
  embeddings: {
    model: async (source) => (await gemini(source)).embeddingModel(source.providerModel),
    needs: ["GOOGLE_GENERATIVE_AI_API_KEY"],
  },
  modelList: ({ baseUrl, apiKey }) => ({
    url: `${baseUrl}/models?pageSize=1000`,
    headers: { "x-goog-api-key": apiKey ?? "" },
  }),
  jobs: null,
  cancel: null, // no way found for Veo, so a video runs to its end
  failures: {
    answers: {
      quota: { codes: [], sentences: [/^You exceeded your current quota, please check your plan and billing details/] },
      badKey: { codes: ["API_KEY_INVALID"] }, // with a 400
      tooLong: { codes: [], sentences: [/^The input token count[^a-z]* exceeds the maximum number of tokens/] },
    },
    declinedJobs: [/usage guidelines|safety/i],
    retryDelayMs: readRetryDelayMs,
  },
  refusals: { modalities: ["image", "video"], read: readRefusal },
  requestIdHeader: null,
};
