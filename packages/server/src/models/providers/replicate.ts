import { cancelBelow, sdkSettings, type ModelSource, type Provider } from "./provider.ts";

async function replicateModels(source: ModelSource) {
  const { createReplicate } = await import("@ai-sdk/replicate");
  const settings = sdkSettings(source);
  return createReplicate({ ...settings, apiToken: settings.apiKey });
}

export const replicate: Provider = {
  id: "replicate",
  settings: { key: "REPLICATE_API_TOKEN", baseUrl: "REPLICATE_BASE_URL" },
  address: { baseUrl: "https://api.replicate.com/v1", fixed: null },
  apis: null,
  isSimulated: false,
  models: {
    text: null,
    image: async (source) => (await replicateModels(source)).image(source.providerModel),
    video: async (source) => (await replicateModels(source)).video(source.providerModel),
  },
  textFeatures: null,
  embeddings: null,
  cancel: (job) => cancelBelow("getUrl", job, { method: "POST", scheme: "Bearer" }),
  failures: {
    answers: {
      // "NSFW content detected", which is not fal's has_nsfw_concepts; "flagged as sensitive" is E005
      declined: [/\bnsfw\b/i, /flagged as sensitive/i],
      quota: [],
      badKey: [],
      tooLong: [],
    },
    declinedJobs: [/policy|sensitive content/i], // the models' authors say it in their own words
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: null,
};
