/** Starts, polls, loads, and cancels provider jobs, through the provider's own interface or the SDK's. */
import { collectBytes, type SpooledFile } from "../../files/index.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { JsonValue } from "../../platform/json.ts";
import { imageUsage, videoUsage } from "../pricing/usage.ts";
import { classifyAnswer, classifyJobFailure, failure } from "../providers/failure.ts";
import { providerOf } from "../providers/all-providers.ts";
import type { JobFile, JobInterface, JobSource } from "../providers/jobs.ts";
import { FILE_ANSWER_BYTES_MAX, sourceOf, wholePrompt, type Adapter } from "./call-settings.ts";
import { nameWithKey, splitName } from "./job-keys.ts";
import type {
  JobCancel,
  JobPoll,
  ModelAdapter,
  ModelCall,
  ModelResult,
  PollAnswer,
  ReadyJob,
} from "./model-adapter.ts";
import { settledFile } from "./read-error.ts";

const importVideo = () => import("./video.ts"); // and the SDK with it

const VIDEO_BYTES_MAX = 209_715_200;

export async function startJob(
  adapter: Adapter,
  call: ModelCall,
  signal: AbortSignal,
): Promise<{ readonly kind: "started"; readonly operation: JsonValue }> {
  const { jobs } = providerOf(call.entry.provider);
  const started =
    jobs === null
      ? await (await importVideo()).startVideo(adapter, call, signal)
      : await startOwn(adapter, call, jobs, signal);
  const { endpoint } = adapter.connectionOf(call.entry);
  return { kind: "started", operation: nameWithKey(started, call.key, endpoint) };
}

function startOwn(adapter: Adapter, call: ModelCall, jobs: JobInterface, signal: AbortSignal): Promise<JsonValue> {
  const { entry, mapping } = call;
  const { size, aspectRatio, duration, resolution, providerOptions } = mapping;
  const order = {
    providerModel: entry.providerModel,
    modality: entry.modality,
    prompt: wholePrompt(call),
    images: call.images,
    size,
    aspectRatio,
    duration,
    resolution,
    options: providerOptions?.[entry.provider] ?? {},
    idempotencyKey: call.idempotencyKey,
    timeLimitMs: call.timeLimitMs,
  };
  return jobs.start(order, jobSource(adapter, entry, { isPoll: false, key: call.key, signal }));
}

function jobSource(
  adapter: Adapter,
  entry: CatalogueEntry,
  { signal, ...options }: { readonly isPoll: boolean; readonly key: number; readonly signal: AbortSignal },
): JobSource {
  const { endpoint, fetch } = sourceOf(adapter, entry, {
    call: null,
    answerBytesMax: FILE_ANSWER_BYTES_MAX,
    ...options,
  });
  return { endpoint, fetch, signal };
}

export async function pollJob(adapter: Adapter, job: JobPoll, signal: AbortSignal): Promise<PollAnswer> {
  const { entry } = job.call;
  const poll = { ...job, ...splitName(job.operation, adapter.connectionOf(entry).endpoint) };
  const { jobs } = providerOf(entry.provider);
  if (jobs !== null) return pollOwn(adapter, { ...poll, jobs }, signal);
  const { askVideo } = await importVideo();
  const state = await askVideo(adapter, poll, signal);
  if (state.kind === "pending") return state;
  if (state.kind === "broken") return { ...classifyJobFailure(state.words), usage: null };
  const { video, requestId } = state;
  if (video === null) return EMPTY;
  return ready(adapter, entry, async (loading) => {
    const facts = { mediaType: video.mediaType, usage: videoUsage(poll.call.mapping), requestId };
    if (video.type === "binary") return { kind: "video", content: video.data, ...facts };
    if (video.type === "base64") return { kind: "video", content: Buffer.from(video.data, "base64"), ...facts };
    if (video.type !== "url") return UNUSABLE;
    const content = await loadVideo(adapter, entry, video.url, loading);
    return content === null ? UNUSABLE : { kind: "video", content, ...facts };
  });
}

const EMPTY = failure("empty", { retry: "never", breaker: "ignored" });
const UNUSABLE = failure("image_unusable", { retry: "never", breaker: "ignored" });

function ready(adapter: Adapter, entry: CatalogueEntry, load: (signal: AbortSignal) => Promise<ModelResult>): ReadyJob {
  return { kind: "ready", load: (signal) => settledFile(adapter, entry, () => load(signal)) };
}

async function pollOwn(
  adapter: Adapter,
  { call, operation, key, jobs }: JobPoll & { readonly key: number; readonly jobs: JobInterface },
  signal: AbortSignal,
): Promise<PollAnswer> {
  const { entry } = call;
  const state = await jobs.poll(operation, jobSource(adapter, entry, { isPoll: true, key, signal }));
  if (state.kind === "pending") return state;
  return ready(adapter, entry, async (loading) => {
    const file = await state.read(jobSource(adapter, entry, { isPoll: false, key, signal: loading }));
    return loadFile(adapter, call, file, loading);
  });
}

async function loadFile(
  adapter: Adapter,
  call: JobPoll["call"],
  file: JobFile,
  signal: AbortSignal,
): Promise<ModelResult> {
  if (file.kind === "declined") return { kind: "refused", usage: null };
  if (file.kind === "empty") return EMPTY;
  if (file.kind === "unknown") return UNUSABLE;
  const { entry, mapping } = call;
  const { url, mediaType } = file;
  if (entry.modality === "video") {
    const content = await loadVideo(adapter, entry, url, signal);
    if (content === null) return UNUSABLE;
    return { kind: "video", content, mediaType: mediaType ?? "video/mp4", usage: videoUsage(mapping), requestId: null };
  }
  const address = URL.parse(url);
  if (address === null) return UNUSABLE;
  const limits = { bytesMax: FILE_ANSWER_BYTES_MAX, read: collectBytes };
  const bytes = await adapter.connectionOf(entry).transport.fetchFile(address, limits, signal);
  if (bytes.byteLength === 0) return EMPTY;
  const usage = imageUsage(undefined, call);
  return { kind: "image", bytes: new Uint8Array(bytes), mediaType: mediaType ?? "image/png", usage, requestId: null };
}

/** Null: not an address. The address may contain the provider's key: it is used once and never logged or stored. */
async function loadVideo(
  adapter: Adapter,
  entry: CatalogueEntry,
  url: string,
  signal: AbortSignal,
): Promise<SpooledFile | null> {
  const address = URL.parse(url);
  if (address === null) return null;
  const limits = {
    bytesMax: VIDEO_BYTES_MAX,
    read: (pieces: AsyncIterable<Uint8Array>) => adapter.spool.write(pieces),
  };
  return adapter.connectionOf(entry).transport.fetchFile(address, limits, signal);
}

const CANCEL_ANSWER_BYTES_MAX = 1_048_576;

export async function cancelJob(
  adapter: Adapter,
  { entry, operation: stored }: Parameters<ModelAdapter["cancelJob"]>[0],
  signal: AbortSignal,
): Promise<JobCancel> {
  const { cancel } = providerOf(entry.provider);
  const { endpoint, transport } = adapter.connectionOf(entry);
  const { operation, key } = splitName(stored, endpoint);
  const apiKey = endpoint.apiKeys[key] ?? null;
  const request = cancel?.({ operation, endpoint: { ...endpoint, apiKey } }) ?? null;
  if (request === null) return { kind: "impossible" };
  if (request === "not-needed") return { kind: "canceled" };
  const { url, method, authorization } = request;
  const fetch = transport.fetchWithin({ answerBytesMax: CANCEL_ANSWER_BYTES_MAX });
  const answer = await fetch(url, { method, headers: { authorization }, signal });
  if (answer.ok) return { kind: "canceled" };
  const headers = Object.fromEntries(answer.headers);
  return classifyAnswer({ httpStatus: answer.status, headers, body: await answer.text() }, adapter.clock.nowMs());
}
