import { anthropicFeatures } from "./text-features.ts";
import { sdkSettings, type Provider } from "./provider.ts";

export const anthropic: Provider = {
  id: "anthropic",
  settings: { key: "ANTHROPIC_API_KEY", baseUrl: "ANTHROPIC_BASE_URL" },
  address: { baseUrl: "https://api.anthropic.com/v1", fixed: null },
  apis: null,
  isSimulated: false,
  models: {
    text: async (source) => {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic(sdkSettings(source))(source.providerModel);
    },
    image: null,
    video: null,
  },
  textFeatures: anthropicFeatures,
  embeddings: null,
  jobs: null,
  cancel: null,
  failures: {
    answers: {
      declined: { codes: [], sentences: [/^Output blocked by content filtering policy/] },
      quota: { codes: ["billing_error"], sentences: [/^Your credit balance is too low/] }, // the latter with a 400
      tooLong: { codes: ["request_too_large"], sentences: [/^prompt is too long/i] },
    },
    declinedJobs: [],
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: "request-id",
};
