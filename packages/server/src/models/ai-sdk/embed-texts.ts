import { embedMany } from "ai";
import type { EmbeddingsModel } from "../model-call.ts";
import type { Adapter } from "./adapter-context.ts";
import { embeddingModel } from "./model-objects.ts";
import { settled } from "./settle.ts";

/** Models that can be asked for fewer numbers than they have; 512 rank as well and cost a third of the memory. */
const SHORTENABLE = /^(text-embedding-3-|gemini-embedding-)/;
const DIMENSIONS = 512;

export async function embedTexts(
  adapter: Adapter,
  { provider, providerModel, server, texts }: EmbeddingsModel & { readonly texts: readonly string[] },
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const model = embeddingModel(adapter, { provider, providerModel, server });
  const dimensions = SHORTENABLE.test(providerModel) ? { dimensions: DIMENSIONS } : {};
  const made = await settled(adapter, { entry: { modality: "text" }, signal }, () =>
    embedMany({ model, values: [...texts], ...dimensions, maxRetries: 0, abortSignal: signal }),
  );
  if ("embeddings" in made) return made.embeddings.map((vector) => Float32Array.from(vector));
  // The SDK's own message holds the provider's words.
  const why = made.kind === "failed" ? `${made.cause}, HTTP ${made.httpStatus ?? "none"}` : made.kind;
  throw new Error(`The embeddings model failed: ${why}.`);
}
