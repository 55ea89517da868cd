import { sdkSettings, type ModelSource, type Provider } from "./provider.ts";

async function openAiCompatible({ provider, endpoint, fetch }: ModelSource) {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  return createOpenAICompatible({
    name: provider,
    baseURL: endpoint.baseUrl,
    fetch,
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
  });
}

/**
 * Every server that speaks the OpenAI interface and is not OpenAI's: those of the models file under their own names,
 * those found on this machine, and the one at OPENAI_BASE_URL, whose models are named compatible/….
 */
export const compatible = {
  id: "compatible",
  settings: { key: "OPENAI_API_KEY", baseUrl: "OPENAI_BASE_URL" },
  address: { baseUrl: "https://api.openai.com/v1", fixed: null },
  apis: ["chat"],
  isSimulated: false,
  models: {
    text: async (source) => (await openAiCompatible(source)).chatModel(source.providerModel),
    image: async (source) => (await openAiCompatible(source)).imageModel(source.providerModel),
    video: null,
  },
  embeddings: {
    model: async (source) => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI(sdkSettings(source)).embeddingModel(source.providerModel);
    },
    needs: ["OPENAI_BASE_URL"],
  },
  cancel: null,
  failures: {
    answers: {
      // The former after Azure's; the latter OpenRouter's, with a 403, which would else be a key without permission.
      declined: [/content_filter/i, /"flagged_input"/],
      quota: [],
      badKey: [],
      tooLong: [/exceed_context_size/i, /context length/i], // llama.cpp; vLLM and others
    },
    declinedJobs: [],
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: null,
} satisfies Provider;
