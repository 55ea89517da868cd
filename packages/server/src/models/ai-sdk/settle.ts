/** Turns what a call threw into a value; only cancellation, bugs and outages stay exceptions. */
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { ModelResult } from "../model-call.ts";
import { classifyTransport } from "../providers/provider-failure.ts";
import type { Adapter } from "./adapter-context.ts";
import { readProviderError } from "./provider-error.ts";

/**
 * Runs a call of the SDK and turns what it throws into a value; only cancellation stays an exception. Whatever is not
 * recognised came of the provider's answer: base64 that is none, a field that is missing where the SDK reads on.
 */
export async function settled<Result>(
  { log, clock }: Adapter,
  { entry, signal }: { readonly entry: Pick<CatalogueEntry, "modality">; readonly signal: AbortSignal },
  work: () => Promise<Result>,
): Promise<Result | ModelResult> {
  try {
    return await work();
  } catch (error) {
    const result = readProviderError(error, entry, clock.nowMs());
    if (result !== null) return result;
    if (signal.aborted) throw error;
    // Its message may hold the provider's words.
    log.warn({ error: error instanceof Error ? error.name : typeof error }, "the SDK could not read an answer");
    return classifyTransport("protocol", entry.modality);
  }
}

/** The same for a file that is fetched without the SDK: what is not recognised is our disk's failure, or a bug. */
export async function settledFile(
  adapter: Adapter,
  entry: CatalogueEntry,
  work: () => Promise<ModelResult>,
): Promise<ModelResult> {
  try {
    return await work();
  } catch (error) {
    const result = readProviderError(error, entry, adapter.clock.nowMs());
    if (result === null) throw error;
    return result;
  }
}
