/**
 * Reaches all providers through the AI SDK: makes one call, and turns each SDK result and error into a value of
 * model-adapter.ts. Policy (retries, deadlines, limits) is in calls/; the SDK retries nothing here. The SDK is loaded at
 * the first call, so startup does not wait for it.
 */
import type { EmbeddingsModel } from "../catalogue/embeddings-model.ts";
import { resolveEndpoint } from "../providers/provider-endpoint.ts";
import { providerOf } from "../providers/all-providers.ts";
import { createTransport, type Transport } from "../providers/transport.ts";
import { FILE_ANSWER_BYTES_MAX, sourceOf, type Adapter, type AdapterOptions } from "./call-settings.ts";
import type { ModelAdapter } from "./model-adapter.ts";
import { settled } from "./read-error.ts";
import { cancelJob, pollJob, startJob } from "./jobs.ts";
import { callText } from "./text.ts";

const IDLE_MARGIN_MS = 30_000;

export function createAiSdkAdapter(options: AdapterOptions): ModelAdapter {
  globalThis.AI_SDK_LOG_WARNINGS = false; // logWarnings logs them, without the values they may contain
  const transports = new Map<string, Transport>();
  const connectionOf: Adapter["connectionOf"] = (model) => {
    const endpoint = resolveEndpoint(model, options.secret);
    const key = `${model.provider} ${endpoint.baseUrl}`;
    const transport =
      transports.get(key) ??
      (options.connect ?? createTransport)({
        ...endpoint,
        idleMs: options.timeoutMsMax + IDLE_MARGIN_MS,
        download: options.download,
      });
    transports.set(key, transport);
    return { endpoint, transport };
  };
  const adapter: Adapter = { ...options, languageModels: new WeakMap(), connectionOf };
  return {
    callModel: (call, signal) =>
      settled(adapter, { entry: call.entry, signal }, async () => {
        if (call.entry.modality === "text") return callText(adapter, call, signal);
        const { callImage } = await import("./image.ts");
        return callImage(adapter, call, signal);
      }),
    startJob: (call, signal) => settled(adapter, { entry: call.entry, signal }, () => startJob(adapter, call, signal)),
    pollJob: (poll, signal) =>
      settled(adapter, { entry: poll.call.entry, signal }, () => pollJob(adapter, poll, signal)),
    cancelJob: (job, signal) => settled(adapter, { entry: job.entry, signal }, () => cancelJob(adapter, job, signal)),
    countKeys: (entry) => connectionOf(entry).endpoint.apiKeys.length,
    embedTexts: (model, texts, signal) => embedTexts(adapter, { ...model, texts }, signal),
    close: async () => {
      await Promise.all([...transports.values()].map((transport) => transport.close()));
      transports.clear();
    },
  };
}

/** Models that can return shorter vectors; 512 dimensions rank as well and use a third of the memory. */
const SHORTENABLE = /^(text-embedding-3-|gemini-embedding-)/;
const DIMENSIONS = 512;

async function embedTexts(
  adapter: Adapter,
  { texts, ...embeddingsModel }: EmbeddingsModel & { readonly texts: readonly string[] },
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { embeddings } = providerOf(embeddingsModel.provider);
  if (embeddings === null) throw new Error(`The provider ${embeddingsModel.provider} does not make embeddings.`);
  const model = await embeddings.model(
    sourceOf(adapter, embeddingsModel, { call: null, answerBytesMax: FILE_ANSWER_BYTES_MAX }),
  );
  const dimensions = SHORTENABLE.test(embeddingsModel.providerModel) ? { dimensions: DIMENSIONS } : {};
  const { embedMany } = await import("ai");
  const made = await settled(adapter, { entry: { modality: "text" }, signal }, () =>
    embedMany({ model, values: [...texts], ...dimensions, maxRetries: 0, abortSignal: signal }),
  );
  if ("embeddings" in made) return made.embeddings.map((vector) => Float32Array.from(vector));
  // The SDK's own message contains the provider's error message.
  const why = made.kind === "failed" ? `${made.cause}, HTTP ${made.httpStatus ?? "none"}` : made.kind;
  throw new Error(`The embeddings model failed: ${why}.`);
}
