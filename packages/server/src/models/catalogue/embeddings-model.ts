import { listWords } from "@promptd/contract";
import { ALL_PROVIDERS } from "../providers/all-providers.ts";
import type { ReadSecret } from "../providers/provider-endpoint.ts";
import type { Catalogue, CatalogueEntry } from "./catalogue.ts";
import { reasonOf } from "../../platform/reason-of.ts";

/** A model that turns texts into vectors, for search; not a catalogue entry. `server` null: of a built-in provider. */
export type EmbeddingsModel = Pick<CatalogueEntry, "provider" | "providerModel" | "server">;

function embeddingsOf(provider: string) {
  return ALL_PROVIDERS.find(({ id }) => id === provider)?.embeddings ?? null;
}

/**
 * Resolves the model that a setting names as `provider/model`; `compatible` is the server at OPENAI_BASE_URL.
 * @throws Error if the provider neither makes embeddings nor is in the models file.
 */
export function embeddingsModel(catalogue: Catalogue, model: string): EmbeddingsModel {
  const [provider = "", ...rest] = model.split("/");
  const providerModel = rest.join("/");
  const server = catalogue.entries.find((entry) => entry.provider === provider)?.server ?? null;
  if (providerModel === "" || (server === null && embeddingsOf(provider) === null)) {
    throw new Error(
      `must be openai/…, google/…, compatible/… (a model on the server at OPENAI_BASE_URL), or …/… for a provider in the models file, got "${model}".`,
    );
  }
  return { provider, providerModel, server };
}

/** What is wrong with the setting, as the end of a sentence that starts with its name; null: nothing. */
export function faultOfEmbeddingsModel(catalogue: Catalogue, model: string, secret: ReadSecret): string | null {
  try {
    const { provider, server } = embeddingsModel(catalogue, model);
    const needed: readonly string[] =
      server === null ? (embeddingsOf(provider)?.needs ?? []) : [server.apiKeyEnv].filter((name) => name !== undefined);
    if (needed.length === 0 || needed.some((name) => secret(name) !== null)) return null;
    return `is ${model}, which needs ${listWords(needed, "or")}.`;
  } catch (error) {
    return reasonOf(error);
  }
}
