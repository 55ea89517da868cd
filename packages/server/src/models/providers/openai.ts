import { z } from "zod";
import type { JsonObject, JsonValue } from "../../platform/json.ts";
import { openAiElsewhere } from "./openai-compatible.ts";
import {
  ALL_FEATURES,
  NO_SAMPLING,
  openAiList,
  sdkSettings,
  type FeaturedModel,
  type ModelSource,
  type Provider,
  type SearchedAnswer,
} from "./provider.ts";

async function openAi(source: ModelSource) {
  const { createOpenAI } = await import("@ai-sdk/openai");
  return createOpenAI(sdkSettings(source));
}

/** Opening a found page costs nothing besides its tokens, and a failed search costs nothing. */
function isSearch({ type, result, isError = false }: SearchedAnswer["content"][number]): boolean {
  if (type !== "tool-result" || isError) return false;
  const read = searchAction.safeParse(result);
  return !read.success || (read.data.action?.type ?? "search") === "search";
}

const searchAction = z.object({ action: z.object({ type: z.string() }).optional() });

const REASONING = /^(?:o\d|gpt-(?:[5-9]|\d{2})(?!.*chat))/;

/** Reasoning models support neither temperature nor topP; Responses has neither seed nor stop (read in the package, 2026-11). */
function textFeatures({ providerModel, api }: FeaturedModel) {
  const isChat = api === "chat";
  const sampling = REASONING.test(providerModel) ? NO_SAMPLING : {};
  return { ...ALL_FEATURES, ...sampling, seed: isChat, stopMax: isChat ? 4 : 0, schemaOptions };
}

/** In strict mode, OpenAI rejects schemas that leave a member out of `required`, or allow unknown members. */
function schemaOptions(schema: JsonObject): JsonObject {
  return { strictJsonSchema: isStrictSchema(schema) };
}

function isStrictSchema(schema: JsonValue): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema);
  if (typeof schema !== "object" || schema === null) return true;
  const { type, properties, required, additionalProperties } = schema as JsonObject;
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  const isObject = type === "object" || properties !== undefined;
  const isClosed =
    additionalProperties === false && Array.isArray(required) && names.every((name) => required.includes(name));
  return (!isObject || isClosed) && Object.values(schema).every(isStrictSchema);
}

export const openai: Provider = {
  id: "openai",
  settings: { key: "OPENAI_API_KEY", baseUrl: "OPENAI_BASE_URL" },
  address: { baseUrl: "https://api.openai.com/v1", fixed: null },
  apis: ["responses", "chat"],
  isSimulated: false,
  models: {
    text: async (source) => {
      // OpenAI-compatible servers support chat; few support Responses.
      if (source.endpoint.isOverridden) return openAiElsewhere(source);
      const sdk = await openAi(source);
      return source.api === "chat" ? sdk.chat(source.providerModel) : sdk.responses(source.providerModel);
    },
    image: async (source) => (await openAi(source)).image(source.providerModel),
    video: null,
  },
  textFeatures,
  webSearch: {
    // Chat at another address does not have this tool.
    ask: ({ endpoint, searchesMax }) =>
      endpoint.isOverridden
        ? null
        : {
            tool: { id: "openai.web_search", args: {} },
            // Otherwise everything found would be listed; sources are what the answer refers to.
            providerOptions: { openai: { maxToolCalls: searchesMax, includeWebSearchSources: false } },
          },
    count: ({ content }) => content.filter(isSearch).length,
  },
  embeddings: {
    model: async (source) => (await openAi(source)).embeddingModel(source.providerModel),
    needs: ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
  },
  modelList: openAiList,
  jobs: null,
  cancel: null,
  failures: {
    answers: {
      // For images, for reasoning models, and of older interfaces.
      declined: { codes: ["moderation_blocked", "invalid_prompt", "content_policy_violation"] },
      quota: { codes: ["insufficient_quota", "billing_not_active", "billing_hard_limit_reached"] },
      tooLong: { codes: ["context_length_exceeded", "string_above_max_length"] }, // the latter for one message
      noModel: { codes: ["model_not_found"] },
    },
    declinedJobs: [],
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: "x-request-id",
};
