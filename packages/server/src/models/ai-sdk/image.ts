import type { ImageModelV4 } from "@ai-sdk/provider";
import { generateImage } from "ai";
import { presentMembers } from "../../platform/json.ts";
import { imageUsage } from "../pricing/usage.ts";
import { splitMask } from "../providers/jobs.ts";
import { failure } from "../providers/failure.ts";
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
import type { ModelCall, ModelResult } from "./model-adapter.ts";

export async function callImage(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const text = wholePrompt(call);
  const { size, aspectRatio } = call.mapping;
  const { pictures, mask } = splitMask(call.images);
  const images = pictures.map(({ bytes }) => bytes);
  const result = await generateImage({
    model: await imageModel(adapter, call),
    prompt: images.length === 0 ? text : { text, images, ...(mask === undefined ? {} : { mask: mask.bytes }) },
    n: 1,
    ...presentMembers({ size, aspectRatio }),
    ...sharedSettings(call, signal),
  });
  logWarnings(adapter, call.entry, result.warnings);
  const { uint8Array: bytes, mediaType } = result.image;
  const usage = imageUsage(result.usage, call);
  if (bytes.byteLength === 0) return failure("empty", { retry: "never", breaker: "ignored", usage });
  return { kind: "image", bytes, mediaType, usage, requestId: requestId(result.responses[0]?.headers) };
}

async function imageModel(adapter: Adapter, call: ModelCall): Promise<ImageModelV4> {
  const { image } = providerOf(call.entry.provider).models;
  if (image === null) throw new Error(`The provider ${call.entry.provider} does not generate images.`);
  return image(sourceOf(adapter, call.entry, { call, answerBytesMax: FILE_ANSWER_BYTES_MAX }));
}
