/**
 * The only file that knows the AI SDK: it makes one call, and turns every answer and every error of the SDK into a
 * value of model-call.ts. Policy (retries, deadlines, limits) is in call-model.ts; the SDK retries nothing here.
 * Order: the adapter, the calls per modality, model construction.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createFal } from "@ai-sdk/fal";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { Experimental_VideoModelV4 as VideoModel, ImageModelV4, LanguageModelV4 } from "@ai-sdk/provider";
import { createReplicate } from "@ai-sdk/replicate";
import {
  embedMany,
  experimental_getVideoStatus as getVideoStatus,
  experimental_startVideo as startVideo,
  generateImage,
  generateText,
  type ModelMessage,
} from "ai";
import type { GuardedFetch } from "../files/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import { withGeminiRefusals } from "./gemini-refusals.ts";
import type { JsonValue } from "./mapping.ts";
import type { EmbeddingsModel, ModelAdapter, ModelCall, ModelResult } from "./model-call.ts";
import { readProviderError } from "./provider-error.ts";
import { classifyJobFailure, failure } from "./provider-failure.ts";
import { resolvePlace, type ProviderPlace, type ReadSecret } from "./provider-place.ts";
import { createSandboxTimer, type SandboxRequest, type SandboxTimer } from "./sandbox/sandbox-provider.ts";
import { sandboxImage, sandboxText, sandboxVideo } from "./sandbox/sdk-models.ts";
import { createTransport, TransportFailure, type FetchLimits, type Transport } from "./transport.ts";
import { imageUsage, textUsage, videoUsage } from "./usage.ts";

export interface AdapterOptions {
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly log: Log;
  /** For files that a provider names: never with the provider's credentials. */
  readonly download: GuardedFetch;
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
      settled(adapter, call.entry, () =>
        (call.entry.modality === "text" ? callText : callImage)(adapter, call, signal),
      ),
    startVideo: (call, signal) => settled(adapter, call.entry, () => beginVideo(adapter, call, signal)),
    pollVideo: (poll, signal) => settled(adapter, poll.entry, () => checkVideo(adapter, poll, signal)),
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
  const usage = imageUsage(result.usage);
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
): Promise<{ readonly kind: "pending" } | ModelResult> {
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
  const bytes = await videoBytes(adapter, entry, { video, signal });
  if (bytes === null) return failure("image_unusable", { retry: "never", breaker: "ignored" });
  return {
    kind: "video",
    bytes,
    mediaType: video.mediaType,
    usage,
    requestId: requestId(status.response.headers),
  };
}

type Video = Extract<Awaited<ReturnType<typeof getVideoStatus>>, { status: "completed" }>["videos"][number];

/** Null: a form this service does not store. */
async function videoBytes(
  adapter: Adapter,
  entry: CatalogueEntry,
  { video, signal }: { video: Video; signal: AbortSignal },
): Promise<Uint8Array | null> {
  if (video.type === "binary") return video.data;
  if (video.type === "base64") return Buffer.from(video.data, "base64");
  return video.type === "url" ? fetchVideo(adapter, entry, { url: video.url, signal }) : null;
}

/** The address may hold the provider's key: it is used once and never logged or stored. */
async function fetchVideo(
  adapter: Adapter,
  entry: CatalogueEntry,
  { url, signal }: { url: string; signal: AbortSignal },
): Promise<Uint8Array> {
  const fetchOnce = adapter
    .transportOf(entry)
    .transport.fetchWithin({ answerBytesMax: VIDEO_BYTES_MAX, isPoll: true, mayRedirect: true });
  const answer = await fetchOnce(url, { signal });
  if (!answer.ok) throw new TransportFailure("result", `the video's address answered ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** Models that can be asked for fewer numbers than they have; 512 rank as well and cost a third of the memory. */
const SHORTENABLE = /^(text-embedding-3-|gemini-embedding-)/;
const DIMENSIONS = 512;

async function embedTexts(
  adapter: Adapter,
  { provider, providerModel, server, texts }: EmbeddingsModel & { readonly texts: readonly string[] },
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { place, transport } = adapter.transportOf({ provider, server });
  const settings = placeSettings(place, transport, { answerBytesMax: IMAGE_ANSWER_BYTES_MAX });
  const model =
    provider === "google"
      ? createGoogle(settings).embeddingModel(providerModel)
      : createOpenAI(settings).embeddingModel(providerModel);
  const dimensions = SHORTENABLE.test(providerModel) ? { dimensions: DIMENSIONS } : {};
  const made = await settled(adapter, { modality: "text" }, () =>
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

function placeSettings(place: ProviderPlace, transport: Transport, limits: FetchLimits) {
  // Without a key an empty one is given: the packages would otherwise look for it in the environment themselves.
  return { baseURL: place.baseUrl, apiKey: place.apiKey ?? "", fetch: transport.fetchWithin(limits) };
}

/** Kept from call to call: a package builds its schemas anew with every model object (a third of a call's CPU, measured 2026-11). */
function languageModel(adapter: Adapter, call: ModelCall): LanguageModelV4 {
  const { entry } = call;
  if (entry.provider === "sandbox") return sandboxText(sandboxRequest(call), call.maxOutputTokens, adapter.timer);
  const { place, transport } = adapter.transportOf(entry);
  const key = [entry.provider, place.baseUrl, entry.providerModel, entry.api].join(" ");
  const model = adapter.languageModels.get(key) ?? createLanguageModel(entry, place, transport);
  adapter.languageModels.set(key, model);
  return model;
}

function createLanguageModel(entry: CatalogueEntry, place: ProviderPlace, transport: Transport): LanguageModelV4 {
  const settings = placeSettings(place, transport, { answerBytesMax: TEXT_ANSWER_BYTES_MAX });
  switch (entry.provider) {
    case "openai":
      // Servers that speak the OpenAI interface know chat; few know Responses.
      return place.isOverridden || entry.api === "chat"
        ? createOpenAI(settings).chat(entry.providerModel)
        : createOpenAI(settings).responses(entry.providerModel);
    case "anthropic":
      return createAnthropic(settings)(entry.providerModel);
    case "google":
      return createGoogle(settings)(entry.providerModel);
    default:
      return compatible(entry, place, settings.fetch).chatModel(entry.providerModel);
  }
}

function imageModel(adapter: Adapter, call: ModelCall): ImageModelV4 {
  const { entry } = call;
  if (entry.provider === "sandbox") return sandboxImage(sandboxRequest(call), adapter.timer);
  const { place, transport } = adapter.transportOf(entry);
  const settings = placeSettings(place, transport, { answerBytesMax: IMAGE_ANSWER_BYTES_MAX });
  switch (entry.provider) {
    case "openai":
      return createOpenAI(settings).image(entry.providerModel);
    case "google":
      return createGoogle({ ...settings, fetch: withGeminiRefusals(settings.fetch) }).image(entry.providerModel);
    case "fal":
      return createFal(settings).image(entry.providerModel);
    case "replicate":
      return createReplicate({ ...settings, apiToken: settings.apiKey }).image(entry.providerModel);
    default:
      return compatible(entry, place, settings.fetch).imageModel(entry.providerModel);
  }
}

function compatible(entry: CatalogueEntry, place: ProviderPlace, fetch: typeof globalThis.fetch) {
  return createOpenAICompatible({
    name: entry.provider,
    baseURL: place.baseUrl,
    fetch,
    ...(place.apiKey === null ? {} : { apiKey: place.apiKey }),
  });
}

/** @param call null: to ask for the state of a started video. */
function videoModel(adapter: Adapter, entry: CatalogueEntry, call: ModelCall | null): VideoModel {
  if (entry.provider === "sandbox")
    return sandboxVideo(entry.model, call === null ? null : sandboxRequest(call), adapter.timer);
  const { place, transport } = adapter.transportOf(entry);
  const limits = { answerBytesMax: IMAGE_ANSWER_BYTES_MAX, isPoll: call === null };
  const settings = placeSettings(place, transport, limits);
  if (entry.provider === "google") {
    return createGoogle({ ...settings, fetch: withGeminiRefusals(settings.fetch) }).video(entry.providerModel);
  }
  if (entry.provider === "fal") return createFal(settings).video(entry.providerModel) as VideoModel;
  if (entry.provider === "replicate")
    return createReplicate({ ...settings, apiToken: settings.apiKey }).video(entry.providerModel);
  throw new Error(`The provider ${entry.provider} makes no videos.`); // the catalogue's check refuses such an entry
}

/** Runs a call and turns what it throws into a value; cancellation and bugs stay exceptions. */
async function settled<Result>(
  adapter: Adapter,
  entry: Pick<CatalogueEntry, "modality">,
  work: () => Promise<Result>,
): Promise<Result | ModelResult> {
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
