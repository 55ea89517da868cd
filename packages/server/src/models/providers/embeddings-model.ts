import type { Catalogue } from "../catalogue/catalogue.ts";
import type { EmbeddingsModel } from "../model-call.ts";
import type { ReadSecret } from "./provider-endpoint.ts";

/** Providers that embed texts and are no overlay's, and one of the settings each of them needs. */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map([
  ["openai", ["OPENAI_API_KEY", "OPENAI_BASE_URL"]],
  ["google", ["GOOGLE_GENERATIVE_AI_API_KEY"]],
  ["compatible", ["OPENAI_BASE_URL"]],
]);

/**
 * The model that a setting names as `provider/model`; `compatible` is the server at OPENAI_BASE_URL.
 * @throws Error when the provider is neither one of these nor one of the models file.
 */
export function embeddingsModel(catalogue: Catalogue, model: string): EmbeddingsModel {
  const [provider = "", ...rest] = model.split("/");
  const providerModel = rest.join("/");
  const server = catalogue.entries.find((entry) => entry.provider === provider)?.server ?? null;
  if (providerModel === "" || (server === null && !NEEDED.has(provider))) {
    throw new Error(
      `must be openai/…, google/…, compatible/… (a model of the server at OPENAI_BASE_URL) or …/… of a provider of the models file, got "${model}".`,
    );
  }
  return { provider: provider === "compatible" ? "openai" : provider, providerModel, server };
}

/** What is wrong with such a setting, as the end of a sentence that begins with its name; null: nothing. */
export function faultOfEmbeddingsModel(catalogue: Catalogue, model: string, secret: ReadSecret): string | null {
  try {
    const { server } = embeddingsModel(catalogue, model);
    const [provider = ""] = model.split("/");
    const needed =
      server === null ? (NEEDED.get(provider) ?? []) : [server.apiKeyEnv].filter((name) => name !== undefined);
    if (needed.length === 0 || needed.some((name) => secret(name) !== null)) return null;
    return `is ${model}, which needs ${needed.join(" or ")}.`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
