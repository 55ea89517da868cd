/** The SDK's model object for a call: the sandbox's own, or a provider's with the way to it. */
import type {
  EmbeddingModelV4,
  Experimental_VideoModelV4 as VideoModel,
  ImageModelV4,
  LanguageModelV4,
} from "@ai-sdk/provider";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { EmbeddingsModel, ModelCall } from "../model-call.ts";
import type { SandboxRequest } from "../sandbox/sandbox-provider.ts";
import type { FetchLimits } from "../providers/transport.ts";
import type { Adapter } from "./adapter-context.ts";
import {
  createEmbeddingModel,
  createImageModel,
  createLanguageModel,
  createVideoModel,
  type ModelSource,
} from "./providers.ts";
import { sandboxImage, sandboxText, sandboxVideo } from "./sandbox-models.ts";

export const TEXT_ANSWER_BYTES_MAX = 8_388_608;
const IMAGE_ANSWER_BYTES_MAX = 67_108_864;

/** Kept from call to call: a package builds its schemas anew with every model object (a third of a call's CPU, measured 2026-11). */
export function languageModel(adapter: Adapter, call: ModelCall): LanguageModelV4 {
  const { entry } = call;
  if (entry.provider === "sandbox") return sandboxText(sandboxRequest(call), call.maxOutputTokens, adapter.timer);
  const { place } = adapter.transportOf(entry);
  const key = [entry.provider, place.baseUrl, entry.providerModel, entry.api].join(" ");
  const kept = adapter.languageModels.get(key);
  if (kept !== undefined) return kept;
  const model = createLanguageModel(sourceOf(adapter, entry, { answerBytesMax: TEXT_ANSWER_BYTES_MAX }));
  adapter.languageModels.set(key, model);
  return model;
}

export function imageModel(adapter: Adapter, call: ModelCall): ImageModelV4 {
  const { entry } = call;
  if (entry.provider === "sandbox") return sandboxImage(sandboxRequest(call), adapter.timer);
  return createImageModel(sourceOf(adapter, entry, { answerBytesMax: IMAGE_ANSWER_BYTES_MAX }));
}

/** @param call null: to ask for the state of a started video. */
export function videoModel(adapter: Adapter, entry: CatalogueEntry, call: ModelCall | null): VideoModel {
  if (entry.provider === "sandbox")
    return sandboxVideo(entry.model, call === null ? null : sandboxRequest(call), adapter.timer);
  const limits = { answerBytesMax: IMAGE_ANSWER_BYTES_MAX, isPoll: call === null };
  return createVideoModel(sourceOf(adapter, entry, limits));
}

/** Vectors of many texts come in one answer. */
export function embeddingModel(adapter: Adapter, model: EmbeddingsModel): EmbeddingModelV4 {
  return createEmbeddingModel(sourceOf(adapter, model, { answerBytesMax: IMAGE_ANSWER_BYTES_MAX }));
}

function sourceOf(
  adapter: Adapter,
  entry: Pick<CatalogueEntry, "provider" | "providerModel" | "server" | "api">,
  limits: FetchLimits,
): ModelSource {
  const { provider, providerModel, api } = entry;
  const { place, transport } = adapter.transportOf(entry);
  return { provider, providerModel, api, place, fetch: transport.fetchWithin(limits) };
}

function sandboxRequest(call: ModelCall): SandboxRequest {
  const { instructions, prompt, images, itemIndex, sendNumber } = call;
  return { model: call.entry.model, instructions, prompt, images, itemIndex, sendNumber };
}
