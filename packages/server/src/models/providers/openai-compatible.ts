import { readLeniently } from "./lenient-answers.ts";
import {
  ALL_FEATURES,
  openAiList,
  sdkSettings,
  type FeaturedModel,
  type ModelSource,
  type Provider,
  type TextFeatures,
} from "./provider.ts";

/** A member of OpenRouter's errors: its content is the caller's, but its presence is OpenRouter's statement. */
export const FLAGGED_INPUT = "flagged_input";

/** @param more further members of every request. */
async function openAiCompatible(
  { provider, endpoint, fetch }: ModelSource,
  more: Readonly<Record<string, boolean>> = {},
) {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const { outputLimit = "max_tokens", hasSchemas = false, streamUsage = "asked" } = endpoint.quirks ?? {};
  return createOpenAICompatible({
    name: provider,
    baseURL: endpoint.baseUrl,
    fetch: async (input, init) => readLeniently(await fetch(input, init)),
    supportsStructuredOutputs: hasSchemas,
    transformRequestBody: ({ max_tokens: limit, ...body }) => ({ ...body, [outputLimit]: limit, ...more }),
    includeUsage: streamUsage === "asked", // in streams
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
  });
}

/** An OpenAI model at another address: the server there need not follow OpenAI's format. */
export async function openAiElsewhere(source: ModelSource) {
  const endpoint = { ...source.endpoint, quirks: { outputLimit: "max_completion_tokens", hasSchemas: true } } as const;
  // Not under the name openai: options for the Responses interface would be sent unchanged.
  const sdk = await openAiCompatible({ ...source, provider: compatible.id, endpoint }, { store: false });
  return sdk.chatModel(source.providerModel);
}

/** Mistral has random_seed instead, and rejects unknown members; DeepSeek documents no seed. */
const WITHOUT_SEED: ReadonlySet<string> = new Set(["mistral", "deepseek"]);

/** The OpenAI interface without what the servers' own documentation rules out. */
function textFeatures({ provider, providerModel }: FeaturedModel): TextFeatures {
  const hasSeed = !WITHOUT_SEED.has(provider);
  const hasStop = !(provider === "xai" && /^grok-(?!3|.*non-reasoning)/.test(providerModel)); // its reasoning models reject it
  return { ...ALL_FEATURES, seed: hasSeed, stopMax: hasStop ? 4 : 0, schema: "prompted" };
}

/**
 * Every OpenAI-compatible server that is not OpenAI's: servers in the models file under their own names, servers found on
 * this machine, and the server at OPENAI_BASE_URL, whose models are named compatible/….
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
  textFeatures,
  webSearch: null,
  embeddings: {
    model: async (source) => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI(sdkSettings(source)).embeddingModel(source.providerModel);
    },
    needs: ["OPENAI_BASE_URL"],
  },
  modelList: openAiList,
  jobs: null,
  cancel: null,
  failures: {
    answers: {
      declined: {
        // Azure's; OpenRouter's, with a 403 that would otherwise mean a key without permission; Qwen's; DeepSeek's sentence.
        codes: ["content_filter", FLAGGED_INPUT, "data_inspection_failed"],
        sentences: [/^Content Exists Risk$/],
      },
      quota: { codes: ["Arrearage"] }, // Qwen's
      tooLong: {
        codes: ["exceed_context_size_error"], // of llama.cpp
        sentences: [
          /^This (?:model|endpoint)'s maximum (?:context|prompt) length is \d/,
          /^Prompt contains \d+ tokens/,
        ],
      },
      noModel: { codes: ["model_not_supported"] },
    },
    declinedJobs: [],
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: null,
} satisfies Provider;
