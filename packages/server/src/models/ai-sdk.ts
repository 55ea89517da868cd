/**
 * The only file that calls the AI SDK: it makes one call, and turns every answer and every error of the SDK into a
 * value of model-call.ts. Policy (retries, deadlines, limits) is in call-model.ts; the SDK retries nothing here.
 * Order: the adapter, the calls per modality, the model of a call. How a provider makes one: ai-sdk-providers.ts.
 */
import type { Experimental_VideoModelV4 as VideoModel, ImageModelV4, LanguageModelV4 } from "@ai-sdk/provider";
import {
  embedMany,
  experimental_getVideoStatus as getVideoStatus,
  experimental_startVideo as startVideo,
  generateImage,
  generateText,
  type ModelMessage,
} from "ai";
import type { GuardedFetch, Spool, SpooledFile } from "../files/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import {
  createEmbeddingModel,
  createImageModel,
  createLanguageModel,
  createVideoModel,
  type ModelSource,
} from "./ai-sdk-providers.ts";
import { cancelRequestOf } from "./cancel-request.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { JsonValue } from "./mapping.ts";
import type { EmbeddingsModel, ModelAdapter, ModelCall, ModelResult, ReadyVideo, VideoCancel } from "./model-call.ts";
import { readProviderError } from "./provider-error.ts";
import { classifyAnswer, classifyJobFailure, classifyTransport, failure } from "./provider-failure.ts";
import { resolvePlace, type ProviderPlace, type ReadSecret } from "./provider-place.ts";
import { createSandboxTimer, type SandboxRequest, type SandboxTimer } from "./sandbox/sandbox-provider.ts";
import { sandboxImage, sandboxText, sandboxVideo } from "./sandbox/sdk-models.ts";
import { createTransport, type FetchLimits, type Transport } from "./transport.ts";
import { imageUsage, textUsage, videoUsage } from "./usage.ts";

export interface AdapterOptions {
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly log: Log;
  /** For files that a provider names: never with the provider's credentials. */
  readonly download: GuardedFetch;
  /** Where videos are written while they arrive. */
  readonly spool: Spool;
  /** The longest deadline of any call, so that idle timers of connections stay behind it. */
  readonly timeoutMsMax: number;
  /** In tests: another network. */
  readonly connect?: typeof createTransport;
}

const TEXT_ANSWER_BYTES_MAX = 8_388_608;
const IMAGE_ANSWER_BYTES_MAX = 67_108_864;
const VIDEO_BYTES_MAX = 209_715_200;
const IDLE_MARGIN_MS = 30_000;

interface Adapter extends AdapterOptions {
  readonly timer: SandboxTimer;
  readonly languageModels: Map<string, LanguageModelV4>;
  transportOf(entry: Pick<CatalogueEntry, "provider" | "server">): { place: ProviderPlace; transport: Transport };
}

export function createAiSdkAdapter(options: AdapterOptions): ModelAdapter {
  globalThis.AI_SDK_LOG_WARNINGS = false; // they are logged below, without the values they may name
  const transports = new Map<string, Transport>();
  const adapter: Adapter = {
    ...options,
    timer: createSandboxTimer(options.clock),
    languageModels: new Map(),
    transportOf: (entry) => {
      const place = resolvePlace(entry, options.secret);
      const key = `${entry.provider} ${place.baseUrl}`;
      const transport =
        transports.get(key) ??
        (options.connect ?? createTransport)({
          ...place,
          idleMs: options.timeoutMsMax + IDLE_MARGIN_MS,
          download: options.download,
        });
      transports.set(key, transport);
      return { place, transport };
    },
  };
  return {
    callModel: (call, signal) =>
      settled(adapter, { entry: call.entry, signal }, () =>
        (call.entry.modality === "text" ? callText : callImage)(adapter, call, signal),
      ),
    startVideo: (call, signal) =>
      settled(adapter, { entry: call.entry, signal }, () => beginVideo(adapter, call, signal)),
    pollVideo: (poll, signal) =>
      settled(adapter, { entry: poll.entry, signal }, () => checkVideo(adapter, poll, signal)),
    cancelVideo: async (video, signal) => {
      const canceled = await settled(adapter, { entry: video.entry, signal }, () => stopVideo(adapter, video, signal));
      return canceled.kind === "text" || canceled.kind === "image" || canceled.kind === "video"
        ? { kind: "impossible" }
        : canceled;
    },
    embedTexts: (model, texts, signal) => embedTexts(adapter, { ...model, texts }, signal),
    close: async () => {
      await Promise.all([...transports.values()].map((transport) => transport.close()));
      transports.clear();
      adapter.languageModels.clear();
    },
  };
}

async function callText(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const messages: ModelMessage[] = [
    {
      role: "user",
      content: [
        ...call.images.map((image) => ({ type: "file" as const, mediaType: image.mediaType, data: image.bytes })),
        { type: "text" as const, text: call.prompt },
      ],
    },
  ];
  const result = await generateText({
    model: languageModel(adapter, call),
    messages,
    ...(call.instructions === "" ? {} : { instructions: call.instructions }),
    ...(call.mapping.reasoning === undefined ? {} : { reasoning: call.mapping.reasoning }),
    maxOutputTokens: call.maxOutputTokens,
    ...sharedSettings(call, signal),
    experimental_download: refuseDownload,
  });
  logWarnings(adapter, call.entry, result.warnings ?? []);
  const usage = textUsage(result.usage, call, result.text);
  if (Buffer.byteLength(result.text) > TEXT_ANSWER_BYTES_MAX) {
    return failure("too_large", { retry: "never", breaker: "counted", usage });
  }
  if (result.finishReason === "content-filter") return { kind: "refused", usage };
  if (result.finishReason === "error" || result.finishReason === "interrupted") {
    return failure("protocol", { retry: "once", breaker: "counted", usage });
  }
  if (result.text.trim() === "") return failure("empty", { retry: "never", breaker: "ignored", usage });
  const truncated = result.finishReason === "length";
  return { kind: "text", text: result.text, truncated, usage, requestId: requestId(result.response.headers) };
}

async function callImage(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const text = wholePrompt(call);
  const { size, aspectRatio } = call.mapping;
  const result = await generateImage({
    model: imageModel(adapter, call),
    prompt: call.images.length === 0 ? text : { text, images: call.images.map((image) => image.bytes) },
    n: 1,
    ...(size === undefined ? {} : { size }),
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...sharedSettings(call, signal),
  });
  logWarnings(adapter, call.entry, result.warnings);
  const { uint8Array: bytes, mediaType } = result.image;
  const usage = imageUsage(result.usage, call);
  if (bytes.byteLength === 0) return failure("empty", { retry: "never", breaker: "ignored", usage });
  return { kind: "image", bytes, mediaType, usage, requestId: requestId(result.responses[0]?.headers) };
}

type Started = { readonly kind: "started"; readonly operation: JsonValue };

async function beginVideo(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<Started> {
  const { aspectRatio, resolution, duration } = call.mapping;
  const [first] = call.images;
  const isFrame = call.entry.inputs?.images?.as !== "reference";
  const { maxRetries, abortSignal, headers, providerOptions } = sharedSettings(call, signal);
  const started = await startVideo({
    model: videoModel(adapter, call.entry, call),
    prompt: wholePrompt(call),
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...(resolution === undefined ? {} : { resolution }),
    ...(duration === undefined ? {} : { duration }),
    ...(first !== undefined && isFrame ? { frameImages: [{ image: first.bytes, frameType: "first_frame" }] } : {}),
    ...(first !== undefined && !isFrame
      ? { inputReferences: call.images.map((image) => ({ data: image.bytes, mediaType: image.mediaType })) }
      : {}),
    maxRetries,
    abortSignal,
    headers,
    providerOptions,
  });
  logWarnings(adapter, call.entry, started.warnings);
  return { kind: "started", operation: started.operation as JsonValue };
}

async function checkVideo(
  adapter: Adapter,
  poll: Parameters<ModelAdapter["pollVideo"]>[0],
  signal: AbortSignal,
): Promise<{ readonly kind: "pending" } | ReadyVideo | ModelResult> {
  const { entry } = poll;
  const status = await getVideoStatus(videoModel(adapter, entry, null), {
    operation: poll.operation,
    abortSignal: signal,
    maxRetries: 0,
  });
  if (status.status === "pending") return { kind: "pending" };
  const usage = videoUsage(poll.mapping);
  if (status.status === "error") return { ...classifyJobFailure(status.error), usage: null };
  const [video] = status.videos;
  if (video === undefined) return failure("empty", { retry: "never", breaker: "ignored" });
  const told = { mediaType: video.mediaType, usage, requestId: requestId(status.response.headers) };
  return {
    kind: "ready",
    load: (loading) =>
      settledFile(adapter, entry, async () => {
        const content = await loadVideo(adapter, entry, { video, signal: loading });
        if (content === null) return failure("image_unusable", { retry: "never", breaker: "ignored" });
        return { kind: "video", content, ...told };
      }),
  };
}

const CANCEL_ANSWER_BYTES_MAX = 1_048_576;

async function stopVideo(
  adapter: Adapter,
  { entry, operation }: Parameters<ModelAdapter["cancelVideo"]>[0],
  signal: AbortSignal,
): Promise<VideoCancel> {
  if (entry.provider === "sandbox") return { kind: "canceled" }; // nothing is under way there
  const { place, transport } = adapter.transportOf(entry);
  const request = cancelRequestOf(entry.provider, operation, place);
  if (request === null) return { kind: "impossible" };
  const { url, method, authorization } = request;
  const fetch = transport.fetchWithin({ answerBytesMax: CANCEL_ANSWER_BYTES_MAX });
  const answer = await fetch(url, { method, headers: { authorization }, signal });
  if (answer.ok) return { kind: "canceled" };
  const headers = Object.fromEntries(answer.headers);
  return classifyAnswer({ httpStatus: answer.status, headers, body: await answer.text() }, adapter.clock.nowMs());
}

type Video = Extract<Awaited<ReturnType<typeof getVideoStatus>>, { status: "completed" }>["videos"][number];

/** Null: a form this service does not store. */
async function loadVideo(
  adapter: Adapter,
  entry: CatalogueEntry,
  { video, signal }: { video: Video; signal: AbortSignal },
): Promise<Uint8Array | SpooledFile | null> {
  if (video.type === "binary") return video.data;
  if (video.type === "base64") return Buffer.from(video.data, "base64");
  // The address may hold the provider's key: it is used once and never logged or stored.
  const url = video.type === "url" ? URL.parse(video.url) : null;
  if (url === null) return null;
  const limits = {
    bytesMax: VIDEO_BYTES_MAX,
    take: (pieces: AsyncIterable<Uint8Array>) => adapter.spool.write(pieces),
  };
  return adapter.transportOf(entry).transport.fetchFile(url, limits, signal);
}

/** Models that can be asked for fewer numbers than they have; 512 rank as well and cost a third of the memory. */
const SHORTENABLE = /^(text-embedding-3-|gemini-embedding-)/;
const DIMENSIONS = 512;

async function embedTexts(
  adapter: Adapter,
  { provider, providerModel, server, texts }: EmbeddingsModel & { readonly texts: readonly string[] },
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const limits = { answerBytesMax: IMAGE_ANSWER_BYTES_MAX };
  const model = createEmbeddingModel(sourceOf(adapter, { provider, providerModel, server }, limits));
  const dimensions = SHORTENABLE.test(providerModel) ? { dimensions: DIMENSIONS } : {};
  const made = await settled(adapter, { entry: { modality: "text" }, signal }, () =>
    embedMany({ model, values: [...texts], ...dimensions, maxRetries: 0, abortSignal: signal }),
  );
  if ("embeddings" in made) return made.embeddings.map((vector) => Float32Array.from(vector));
  // The SDK's own message holds the provider's words.
  const why = made.kind === "failed" ? `${made.cause}, HTTP ${made.httpStatus ?? "none"}` : made.kind;
  throw new Error(`The embeddings model failed: ${why}.`);
}

function sharedSettings(call: ModelCall, signal: AbortSignal) {
  return {
    maxRetries: 0, // the SDK would send again without jitter, also after a timeout that may have been billed
    abortSignal: signal,
    headers: { "idempotency-key": call.idempotencyKey },
    providerOptions: (call.mapping.providerOptions ?? {}) as NonNullable<
      Parameters<typeof generateText>[0]["providerOptions"]
    >,
  };
}

function wholePrompt(call: ModelCall): string {
  return call.instructions === "" ? call.prompt : `${call.instructions}\n\n${call.prompt}`;
}

/** Images go in as bytes; a message that holds an address is a bug, and must not make this host fetch it. */
async function refuseDownload(addresses: readonly unknown[]): Promise<never[]> {
  if (addresses.length > 0) throw new Error("The SDK asked to download an address, but none was given to it.");
  return [];
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

/** Kept from call to call: a package builds its schemas anew with every model object (a third of a call's CPU, measured 2026-11). */
function languageModel(adapter: Adapter, call: ModelCall): LanguageModelV4 {
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

function imageModel(adapter: Adapter, call: ModelCall): ImageModelV4 {
  const { entry } = call;
  if (entry.provider === "sandbox") return sandboxImage(sandboxRequest(call), adapter.timer);
  return createImageModel(sourceOf(adapter, entry, { answerBytesMax: IMAGE_ANSWER_BYTES_MAX }));
}

/** @param call null: to ask for the state of a started video. */
function videoModel(adapter: Adapter, entry: CatalogueEntry, call: ModelCall | null): VideoModel {
  if (entry.provider === "sandbox")
    return sandboxVideo(entry.model, call === null ? null : sandboxRequest(call), adapter.timer);
  const limits = { answerBytesMax: IMAGE_ANSWER_BYTES_MAX, isPoll: call === null };
  return createVideoModel(sourceOf(adapter, entry, limits));
}

/**
 * Runs a call of the SDK and turns what it throws into a value; only cancellation stays an exception. Whatever is not
 * recognised came of the provider's answer: base64 that is none, a field that is missing where the SDK reads on.
 */
async function settled<Result>(
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
async function settledFile(
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

function sandboxRequest(call: ModelCall): SandboxRequest {
  const { instructions, prompt, images, itemIndex, sendNumber } = call;
  return { model: call.entry.model, instructions, prompt, images, itemIndex, sendNumber };
}

function requestId(headers: Readonly<Record<string, string>> | undefined): string | null {
  const id = headers?.["x-request-id"] ?? headers?.["request-id"] ?? headers?.["x-fal-request-id"] ?? null;
  return id === null ? null : id.slice(0, 128);
}

/** The SDK rounds what a model does not support and says so in a warning only: the catalogue is then wrong. */
function logWarnings(adapter: Adapter, entry: CatalogueEntry, warnings: readonly { readonly type: string }[]): void {
  for (const warning of warnings) {
    const feature = "feature" in warning ? warning.feature : null;
    adapter.log.warn(
      { model: entry.model, warning: warning.type, feature },
      "the SDK changed or dropped a setting of a call",
    );
  }
}
