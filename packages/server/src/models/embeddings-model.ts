import type { Catalogue } from "./catalogue.ts";
import type { EmbeddingsModel } from "./model-call.ts";

const BUILT_IN: readonly string[] = ["openai", "google"];

/**
 * The model that a setting names as `provider/model`.
 * @throws Error when the provider is neither built in nor one of the models file.
 */
export function embeddingsModel(catalogue: Catalogue, model: string): EmbeddingsModel {
  const [provider = "", ...rest] = model.split("/");
  const server = catalogue.entries.find((entry) => entry.provider === provider)?.server ?? null;
  if (rest.length === 0 || (server === null && !BUILT_IN.includes(provider))) {
    throw new Error(`${model} is no embeddings model: expected openai/…, google/… or a provider of the models file.`);
  }
  return { provider, providerModel: rest.join("/"), server };
}
