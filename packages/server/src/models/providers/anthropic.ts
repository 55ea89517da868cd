import { z } from "zod";
import { anthropicFeatures } from "./text-features.ts";
import { sdkSettings, type Provider } from "./provider.ts";

const searchUsage = z.object({
  server_tool_use: z.object({ web_search_requests: z.number().nullish() }).nullish(),
});

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
  webSearch: {
    // The first form of the tool: later ones run code beside it, which has a price of its own.
    ask: ({ searchesMax }) => ({ tool: { id: "anthropic.web_search_20250305", args: { maxUses: searchesMax } } }),
    count: ({ rawUsage }) => {
      const read = searchUsage.safeParse(rawUsage);
      return read.success ? (read.data.server_tool_use?.web_search_requests ?? 0) : null;
    },
  },
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
