/**
 * How each provider's package makes its model objects: one row per provider. Any other provider speaks the OpenAI
 * interface at an address of the operator's own. What is asked of a model, and with what limits, is in model-objects.ts.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createFal } from "@ai-sdk/fal";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type {
  EmbeddingModelV4,
  Experimental_VideoModelV4 as VideoModel,
  ImageModelV4,
  LanguageModelV4,
} from "@ai-sdk/provider";
import { createReplicate } from "@ai-sdk/replicate";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import { withFalRefusals } from "./fal-refusals.ts";
import { withGeminiRefusals } from "./gemini-refusals.ts";
import type { ProviderPlace } from "../providers/provider-endpoint.ts";

/** A model of a provider, and the way to it. */
export interface ModelSource extends Pick<CatalogueEntry, "provider" | "providerModel" | "api"> {
  readonly place: ProviderPlace;
  readonly fetch: typeof globalThis.fetch;
}

type Make<Model> = (source: ModelSource) => Model;

interface ProviderRow {
  readonly text?: Make<LanguageModelV4>;
  readonly image?: Make<ImageModelV4>;
  readonly video?: Make<VideoModel>;
  readonly embeddings?: Make<EmbeddingModelV4>;
}

/** What the packages have in common. */
function settingsOf({ place, fetch }: ModelSource) {
  // Without a key an empty one is given: the packages would otherwise look for it in the environment themselves.
  return { baseURL: place.baseUrl, apiKey: place.apiKey ?? "", fetch };
}

function openAi(source: ModelSource) {
  return createOpenAI(settingsOf(source));
}

function google(source: ModelSource) {
  return createGoogle(settingsOf(source));
}

function googleWithRefusals(source: ModelSource) {
  return google({ ...source, fetch: withGeminiRefusals(source.fetch) });
}

function replicate(source: ModelSource) {
  const settings = settingsOf(source);
  return createReplicate({ ...settings, apiToken: settings.apiKey });
}

function compatible({ provider, place, fetch }: ModelSource) {
  return createOpenAICompatible({
    name: provider,
    baseURL: place.baseUrl,
    fetch,
    ...(place.apiKey === null ? {} : { apiKey: place.apiKey }),
  });
}

/** A Map, since an operator names providers of his own as he likes. */
const PROVIDERS: ReadonlyMap<string, ProviderRow> = new Map<string, ProviderRow>([
  [
    "openai",
    {
      // Servers that speak the OpenAI interface know chat; few know Responses.
      text: (source) =>
        source.place.isOverridden || source.api === "chat"
          ? openAi(source).chat(source.providerModel)
          : openAi(source).responses(source.providerModel),
      image: (source) => openAi(source).image(source.providerModel),
    },
  ],
  ["anthropic", { text: (source) => createAnthropic(settingsOf(source))(source.providerModel) }],
  [
    "google",
    {
      text: (source) => google(source)(source.providerModel),
      image: (source) => googleWithRefusals(source).image(source.providerModel),
      video: (source) => googleWithRefusals(source).video(source.providerModel),
      embeddings: (source) => google(source).embeddingModel(source.providerModel),
    },
  ],
  [
    "fal",
    {
      image: (source) => createFal(settingsOf(source)).image(source.providerModel),
      video: (source) =>
        createFal(settingsOf({ ...source, fetch: withFalRefusals(source.fetch) })).video(
          source.providerModel,
        ) as VideoModel,
    },
  ],
  [
    "replicate",
    {
      image: (source) => replicate(source).image(source.providerModel),
      video: (source) => replicate(source).video(source.providerModel),
    },
  ],
]);

export function createLanguageModel(source: ModelSource): LanguageModelV4 {
  return PROVIDERS.get(source.provider)?.text?.(source) ?? compatible(source).chatModel(source.providerModel);
}

export function createImageModel(source: ModelSource): ImageModelV4 {
  return PROVIDERS.get(source.provider)?.image?.(source) ?? compatible(source).imageModel(source.providerModel);
}

/** @throws Error for a provider without videos: the catalogue's check refuses such an entry. */
export function createVideoModel(source: ModelSource): VideoModel {
  const model = PROVIDERS.get(source.provider)?.video?.(source);
  if (model === undefined) throw new Error(`The provider ${source.provider} makes no videos.`);
  return model;
}

/** Whatever is not Google's speaks the OpenAI interface here. */
export function createEmbeddingModel(source: ModelSource): EmbeddingModelV4 {
  return PROVIDERS.get(source.provider)?.embeddings?.(source) ?? openAi(source).embeddingModel(source.providerModel);
}
