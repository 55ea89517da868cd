import type { ImageModelV4, LanguageModelV4 } from "@ai-sdk/provider";
import { generateImage, generateText, Output, streamText, type ModelMessage } from "ai";
import { imageUsage, textUsage } from "../pricing/usage.ts";
import { splitMask } from "../providers/jobs.ts";
import { failure } from "../providers/failure.ts";
import { providerOf } from "../providers/index.ts";
import { TransportFailure } from "../providers/transport.ts";
import {
  FILE_ANSWER_BYTES_MAX,
  hasNativeSchema,
  logWarnings,
  requestId,
  sharedSettings,
  sourceOf,
  textSettings,
  wholeInstructions,
  wholePrompt,
  type Adapter,
} from "./call-settings.ts";
import type { ModelCall, ModelResult } from "./model-adapter.ts";
import { createTextJoiner, searchSettings, sourceList, usageWithSearches } from "./web-search.ts";

const TEXT_ANSWER_BYTES_MAX = 8_388_608;

export async function callText(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const instructions = wholeInstructions(call);
  const shared = sharedSettings(call, signal);
  const search = searchSettings(adapter, call, shared.providerOptions);
  if (search === null) {
    // An answer without what was asked for would look like one with it.
    const sentence = "The model cannot search the web here.";
    return failure("bad_request", { retry: "never", breaker: "ignored", sentence });
  }
  const request = {
    model: await languageModel(adapter, call),
    messages: chatMessages(call),
    ...(instructions === "" ? {} : { instructions }),
    ...textSettings(call),
    ...(hasNativeSchema(call) ? { output: jsonOutput(call.outputSchema) } : {}),
    ...(call.mapping.reasoning === undefined ? {} : { reasoning: call.mapping.reasoning }),
    maxOutputTokens: call.maxOutputTokens,
    ...shared,
    ...search,
    experimental_download: refuseDownload,
  };
  const { onText } = call;
  const result = onText === null ? (await generateText(request)).finalStep : await writtenText(request, onText);
  logWarnings(adapter, call.entry, result.warnings ?? []);
  const written = result.content.map(createTextJoiner()).join("");
  const { content, providerMetadata } = result;
  const answer = { content, providerMetadata, rawUsage: result.usage.raw };
  const usage = usageWithSearches(textUsage(result.usage, call, written), call, answer);
  if (Buffer.byteLength(written) > TEXT_ANSWER_BYTES_MAX) {
    return failure("too_large", { retry: "never", breaker: "counted", usage });
  }
  if (result.finishReason === "content-filter") return { kind: "refused", usage };
  if (result.finishReason === "error" || result.finishReason === "interrupted") {
    return failure("protocol", { retry: "once", breaker: "counted", usage });
  }
  const truncated = result.finishReason === "length";
  if (written.trim() === "") {
    return failure(truncated ? "reasoned_only" : "empty", { retry: "never", breaker: "ignored", usage });
  }
  const sources = call.webSearch?.sources === true ? sourceList(result.sources) : "";
  if (sources !== "") onText?.(sources);
  return { kind: "text", text: written + sources, truncated, usage, requestId: requestId(result.response.headers) };
}

function chatMessages(call: ModelCall): ModelMessage[] {
  const earlier = (call.messages ?? []).map(({ role, text }): ModelMessage => ({ role, content: text }));
  const prompt: ModelMessage = {
    role: "user",
    content: [
      ...call.images.map((image) => ({ type: "file" as const, mediaType: image.mediaType, data: image.bytes })),
      { type: "text" as const, text: call.prompt },
    ],
  };
  if (call.correction === undefined) return [...earlier, prompt];
  const { answer, problem } = call.correction;
  const text = `This does not fit the JSON schema: ${problem}. Answer again, with the JSON alone.`;
  return [...earlier, prompt, { role: "assistant", content: answer }, { role: "user", content: text }];
}

/** The text as the model wrote it: calls/ checks it, so that a text that does not fit can be asked for again. */
function jsonOutput(schema: ModelCall["outputSchema"]) {
  return { ...Output.text(), name: "json", responseFormat: Promise.resolve({ type: "json" as const, schema }) };
}

/** The same answer in the end, told piece by piece; for who follows a run, since it costs several times the CPU. */
async function writtenText(request: Parameters<typeof streamText>[0], onText: (text: string) => void) {
  const result = streamText({ ...request, onError: () => {} }); // it is thrown below, not printed
  const join = createTextJoiner();
  for await (const part of result.stream) {
    if (part.type === "error") throw errorOf(part.error);
    if (part.type === "abort") request.abortSignal?.throwIfAborted();
    const piece = join(part.type === "text-delta" ? part : { type: part.type });
    if (piece !== "") onText(piece);
  }
  return result.finalStep;
}

/** A provider that fails after its first words says so in its own form, inside the stream. */
function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new TransportFailure("sent", "the provider ended its stream with an error");
}

/** Images go in as bytes; a message that holds an address is a bug, and must not make this host fetch it. */
async function refuseDownload(addresses: readonly unknown[]): Promise<never[]> {
  if (addresses.length > 0) throw new Error("The SDK asked to download an address, but none was given to it.");
  return [];
}

export async function callImage(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const text = wholePrompt(call);
  const { size, aspectRatio } = call.mapping;
  const { pictures, mask } = splitMask(call.images);
  const images = pictures.map(({ bytes }) => bytes);
  const result = await generateImage({
    model: await imageModel(adapter, call),
    prompt: images.length === 0 ? text : { text, images, ...(mask === undefined ? {} : { mask: mask.bytes }) },
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

/** Reused from call to call: a package builds its schemas anew with every model object (a third of a call's CPU, measured 2026-11). */
async function languageModel(adapter: Adapter, call: ModelCall): Promise<LanguageModelV4> {
  const { entry } = call;
  const { models, isSimulated } = providerOf(entry.provider);
  if (models.text === null) throw new Error(`The provider ${entry.provider} makes no texts.`);
  const source = sourceOf(adapter, entry, { call, answerBytesMax: TEXT_ANSWER_BYTES_MAX });
  if (isSimulated) return models.text(source); // it is made for one call
  const key = [entry.provider, source.endpoint.baseUrl, entry.providerModel, entry.api, call.key].join(" ");
  const model = adapter.languageModels.get(key) ?? models.text({ ...source, call: null });
  adapter.languageModels.set(key, model);
  return model;
}

async function imageModel(adapter: Adapter, call: ModelCall): Promise<ImageModelV4> {
  const { image } = providerOf(call.entry.provider).models;
  if (image === null) throw new Error(`The provider ${call.entry.provider} makes no images.`);
  return image(sourceOf(adapter, call.entry, { call, answerBytesMax: FILE_ANSWER_BYTES_MAX }));
}
