/** What calls of all modalities have in common. */
import type { generateText } from "ai";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { ModelCall } from "../model-call.ts";
import type { Adapter } from "./adapter-context.ts";

export function sharedSettings(call: ModelCall, signal: AbortSignal) {
  return {
    maxRetries: 0, // the SDK would send again without jitter, also after a timeout that may have been billed
    abortSignal: signal,
    headers: { "idempotency-key": call.idempotencyKey },
    providerOptions: (call.mapping.providerOptions ?? {}) as NonNullable<
      Parameters<typeof generateText>[0]["providerOptions"]
    >,
  };
}

export function wholePrompt(call: ModelCall): string {
  return call.instructions === "" ? call.prompt : `${call.instructions}\n\n${call.prompt}`;
}

export function requestId(headers: Readonly<Record<string, string>> | undefined): string | null {
  const id = headers?.["x-request-id"] ?? headers?.["request-id"] ?? headers?.["x-fal-request-id"] ?? null;
  return id === null ? null : id.slice(0, 128);
}

/** The SDK rounds what a model does not support and says so in a warning only: the catalogue is then wrong. */
export function logWarnings(
  adapter: Adapter,
  entry: CatalogueEntry,
  warnings: readonly { readonly type: string }[],
): void {
  for (const warning of warnings) {
    const feature = "feature" in warning ? warning.feature : null;
    adapter.log.warn(
      { model: entry.model, warning: warning.type, feature },
      "the SDK changed or dropped a setting of a call",
    );
  }
}
