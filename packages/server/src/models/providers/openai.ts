import { openAiFeatures } from "./text-features.ts";
import { openAiElsewhere } from "./openai-compatible.ts";
import { sdkSettings, type ModelSource, type Provider } from "./provider.ts";

async function openAi(source: ModelSource) {
  const { createOpenAI } = await import("@ai-sdk/openai");
  return createOpenAI(sdkSettings(source));
}

export const openai: Provider = {
  id: "openai",
  settings: { key: "OPENAI_API_KEY", baseUrl: "OPENAI_BASE_URL" },
  address: { baseUrl: "https://api.openai.com/v1", fixed: null },
  apis: ["responses", "chat"],
  isSimulated: false,
  models: {
    text: async (source) => {
      // Servers that speak the OpenAI interface know chat; few know Responses.
      if (source.endpoint.isOverridden) return openAiElsewhere(source);
      const sdk = await openAi(source);
      return source.api === "chat" ? sdk.chat(source.providerModel) : sdk.responses(source.providerModel);
    },
    image: async (source) => (await openAi(source)).image(source.providerModel),
    video: null,
  },
  textFeatures: openAiFeatures,
  embeddings: {
    model: async (source) => (await openAi(source)).embeddingModel(source.providerModel),
    needs: ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
  },
  jobs: null,
  cancel: null,
  failures: {
    answers: {
      declined: [/content_policy/i, /moderation_blocked/i], // the latter for images
      quota: [/insufficient_quota/i, /billing/i], // the former with a 429; the latter: billing_not_active
      badKey: [],
      tooLong: [/context_length_exceeded/i, /string_above_max_length/i], // the latter for one message
    },
    declinedJobs: [],
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: "x-request-id",
};
