import type { Experimental_VideoModelV4 as VideoModelV4 } from "@ai-sdk/provider";
import { cancelBelow, sdkSettings, type ModelSource, type Provider } from "./provider.ts";

async function falAi(source: ModelSource) {
  const { createFal } = await import("@ai-sdk/fal");
  return createFal(sdkSettings(source));
}

/**
 * The package puts fal-ai/ before every id of a video, but newer ones begin with their owner's name. An id without an
 * owner is meant as the package means it.
 */
async function videoModel(source: ModelSource) {
  const { providerModel, fetch } = source;
  const isPrefixed = providerModel.startsWith("fal-ai/") || !FOREIGN_OWNERS.test(providerModel);
  if (isPrefixed) return (await falAi(source)).video(providerModel) as VideoModelV4;
  const sdk = await falAi({ ...source, fetch: (input, init) => fetch(withoutPrefix(input), init) });
  return sdk.video(providerModel) as VideoModelV4;
}

/** Those whose models are not below fal-ai/; luma-dream-machine/ray-2, as overlays have named it, is. */
const FOREIGN_OWNERS = /^(?!luma-dream-machine\/|minimax\/|kling-video\/|veo)[\w-]+\/[\w.-]+/;

function withoutPrefix(input: Parameters<ModelSource["fetch"]>[0]): Parameters<ModelSource["fetch"]>[0] {
  return typeof input === "string" ? input.replace(/^(https:\/\/queue\.fal\.run)\/fal-ai\//, "$1/") : input;
}

const REFUSAL_WORDS_MAX = 4_096;

/**
 * fal answers a poll of a job that it declined or that broke with a list under `detail`, and the SDK, which looks for
 * `error.message`, then passes on no word of it. The list is put where the SDK looks; the words go no further than that.
 */
async function readRefusal(answer: Response): Promise<Response> {
  if (answer.ok) return answer;
  const text = await answer.text();
  // A job that is not finished has one sentence there, which the SDK knows.
  if (!/"detail"\s*:\s*\[/.test(text)) return new Response(text, answer);
  return Response.json({ error: { message: text.slice(0, REFUSAL_WORDS_MAX), code: answer.status } }, answer);
}

export const fal: Provider = {
  id: "fal",
  settings: { key: "FAL_API_KEY", baseUrl: "FAL_BASE_URL" },
  address: {
    baseUrl: "https://fal.run",
    fixed: { origins: ["https://fal.run", "https://queue.fal.run"], header: "x-fal-target-host" },
  },
  apis: null,
  isSimulated: false,
  models: {
    text: null,
    image: async (source) => (await falAi(source)).image(source.providerModel),
    video: videoModel,
  },
  textFeatures: null,
  embeddings: null,
  cancel: (job) => cancelBelow("responseUrl", job, { method: "PUT", scheme: "Key" }),
  failures: {
    answers: {
      declined: [/content_policy/i], // the type content_policy_violation
      quota: [/exhausted balance/i], // with a 403
      badKey: [],
      tooLong: [],
    },
    declinedJobs: [/policy|sensitive content/i], // the models' authors say it in their own words
    retryDelayMs: null,
  },
  refusals: { modalities: ["video"], read: readRefusal },
  requestIdHeader: "x-fal-request-id",
};
