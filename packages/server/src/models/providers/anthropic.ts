import { z } from "zod";
import { ALL_FEATURES, NO_SAMPLING, sdkSettings, type FeaturedModel, type Provider } from "./provider.ts";

const searchUsage = z.object({
  server_tool_use: z.object({ web_search_requests: z.number().nullish() }).nullish(),
});

/** Models up to 4.6; later ones reject sampling settings (read in the package, 2026-11). */
const SAMPLED = /claude-3|-(?:opus|sonnet|haiku)-4(?:-[0-6])?(?:-\d{8})?$/;

/** Claude supports no sampling settings while it thinks. */
function textFeatures({ providerModel }: FeaturedModel) {
  const sampling = SAMPLED.test(providerModel) ? { temperatureMax: 1, both: false } : NO_SAMPLING;
  return { ...ALL_FEATURES, ...sampling, whileReasoning: false, seed: false };
}

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
  textFeatures,
  webSearch: {
    // The first version of the tool: later ones also run code, which is priced separately.
    ask: ({ searchesMax }) => ({ tool: { id: "anthropic.web_search_20250305", args: { maxUses: searchesMax } } }),
    count: ({ rawUsage }) => {
      const read = searchUsage.safeParse(rawUsage);
      return read.success ? (read.data.server_tool_use?.web_search_requests ?? 0) : null;
    },
  },
  embeddings: null,
  modelList: ({ baseUrl, apiKey }) => ({
    url: `${baseUrl}/models?limit=1000`,
    headers: { "x-api-key": apiKey ?? "", "anthropic-version": "2023-06-01" },
  }),
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
