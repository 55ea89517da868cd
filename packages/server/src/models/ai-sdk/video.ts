/** Videos: started, polled, fetched by a path of their own since the SDK would hold them in memory, and canceled. */
import type { Experimental_VideoModelV4 as VideoModelV4 } from "@ai-sdk/provider";
import { experimental_getVideoStatus as getVideoStatus, experimental_startVideo as startWithSdk } from "ai";
import type { SpooledFile } from "../../files/index.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { JsonValue } from "../catalogue/mapping.ts";
import { videoUsage } from "../pricing/usage.ts";
import { classifyAnswer, classifyJobFailure, failure } from "../providers/failure.ts";
import { providerOf } from "../providers/index.ts";
import {
  FILE_ANSWER_BYTES_MAX,
  logWarnings,
  requestId,
  sharedSettings,
  sourceOf,
  wholePrompt,
  type Adapter,
} from "./call-settings.ts";
import type { ModelAdapter, ModelCall, ModelResult, ReadyVideo, VideoCancel } from "./model-adapter.ts";
import { settledFile } from "./read-error.ts";

const VIDEO_BYTES_MAX = 209_715_200;

type Started = { readonly kind: "started"; readonly operation: JsonValue };

export async function startVideo(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<Started> {
  const { aspectRatio, resolution, duration } = call.mapping;
  const [first] = call.images;
  const isFrame = call.entry.inputs?.images?.as !== "reference";
  const { maxRetries, abortSignal, headers, providerOptions } = sharedSettings(call, signal);
  const started = await startWithSdk({
    model: await videoModel(adapter, call.entry, call),
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

export async function pollVideo(
  adapter: Adapter,
  poll: Parameters<ModelAdapter["pollVideo"]>[0],
  signal: AbortSignal,
): Promise<{ readonly kind: "pending" } | ReadyVideo | ModelResult> {
  const { entry } = poll;
  const status = await getVideoStatus(await videoModel(adapter, entry, null), {
    operation: poll.operation,
    abortSignal: signal,
    maxRetries: 0,
  });
  if (status.status === "pending") return { kind: "pending" };
  const usage = videoUsage(poll.mapping);
  if (status.status === "error") return { ...classifyJobFailure(status.error), usage: null };
  const [video] = status.videos;
  if (video === undefined) return failure("empty", { retry: "never", breaker: "ignored" });
  const facts = { mediaType: video.mediaType, usage, requestId: requestId(status.response.headers) };
  return {
    kind: "ready",
    load: (loading) =>
      settledFile(adapter, entry, async () => {
        const content = await loadVideo(adapter, entry, { video, signal: loading });
        if (content === null) return failure("image_unusable", { retry: "never", breaker: "ignored" });
        return { kind: "video", content, ...facts };
      }),
  };
}

const CANCEL_ANSWER_BYTES_MAX = 1_048_576;

export async function cancelVideo(
  adapter: Adapter,
  { entry, operation }: Parameters<ModelAdapter["cancelVideo"]>[0],
  signal: AbortSignal,
): Promise<VideoCancel> {
  const { cancel } = providerOf(entry.provider);
  const { endpoint, transport } = adapter.connectionOf(entry);
  const request = cancel?.({ operation, endpoint }) ?? null;
  if (request === null) return { kind: "impossible" };
  if (request === "not-needed") return { kind: "canceled" };
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
    read: (pieces: AsyncIterable<Uint8Array>) => adapter.spool.write(pieces),
  };
  return adapter.connectionOf(entry).transport.fetchFile(url, limits, signal);
}

/** @param call null: to poll a started video. */
async function videoModel(adapter: Adapter, entry: CatalogueEntry, call: ModelCall | null): Promise<VideoModelV4> {
  const { video } = providerOf(entry.provider).models;
  if (video === null) throw new Error(`The provider ${entry.provider} makes no videos.`);
  return video(sourceOf(adapter, entry, { call, answerBytesMax: FILE_ANSWER_BYTES_MAX, isPoll: call === null }));
}
