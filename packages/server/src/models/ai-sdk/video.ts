/** Videos from providers whose jobs the SDK can start and poll. It does not load them: it would hold the files in memory. */
import type { Experimental_VideoModelV4 as VideoModelV4 } from "@ai-sdk/provider";
import { experimental_getVideoStatus as getVideoStatus, experimental_startVideo as startWithSdk } from "ai";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import { presentMembers, type JsonValue } from "../../platform/json.ts";
import { providerOf } from "../providers/all-providers.ts";
import {
  FILE_ANSWER_BYTES_MAX,
  logWarnings,
  requestId,
  sharedSettings,
  sourceOf,
  wholePrompt,
  type Adapter,
} from "./call-settings.ts";
import type { JobPoll, ModelCall } from "./model-adapter.ts";

export async function startVideo(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<JsonValue> {
  const { aspectRatio, resolution, duration } = call.mapping;
  const [first] = call.images;
  const isFrame = call.entry.inputs?.images?.as !== "reference";
  const { maxRetries, abortSignal, headers, providerOptions } = sharedSettings(call, signal);
  const started = await startWithSdk({
    model: await videoModel(adapter, call.entry, { call, key: call.key }),
    prompt: wholePrompt(call),
    ...presentMembers({ aspectRatio, resolution, duration }),
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
  return started.operation as JsonValue;
}

/** @returns `words`: the provider's error message; `video` null: there is none. */
export async function askVideo(
  adapter: Adapter,
  { call, operation, key }: JobPoll & { readonly key: number },
  signal: AbortSignal,
) {
  const model = await videoModel(adapter, call.entry, { call: null, key });
  const status = await getVideoStatus(model, { operation, abortSignal: signal, maxRetries: 0 });
  if (status.status === "pending") return { kind: "pending" } as const;
  if (status.status === "error") return { kind: "broken", words: status.error } as const;
  const [video = null] = status.videos;
  return { kind: "made", video, requestId: requestId(status.response.headers) } as const;
}

/** `call` null: to poll a started video. */
async function videoModel(
  adapter: Adapter,
  entry: CatalogueEntry,
  { call, key }: { readonly call: ModelCall | null; readonly key: number },
): Promise<VideoModelV4> {
  const { video } = providerOf(entry.provider).models;
  if (video === null) throw new Error(`The provider ${entry.provider} does not generate videos.`);
  return video(sourceOf(adapter, entry, { call, key, answerBytesMax: FILE_ANSWER_BYTES_MAX, isPoll: call === null }));
}
