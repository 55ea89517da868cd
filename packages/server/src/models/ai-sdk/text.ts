/**
 * Generates text by calling the SDK's model object directly. The SDK's wrapper for steps, tools, retries, and telemetry took
 * three quarters of the SDK's CPU time per call (docs/decisions/2026-11-26-models-are-asked-directly.md).
 */
import type {
  JSONSchema7,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { textUsage } from "../pricing/usage.ts";
import { failure } from "../providers/failure.ts";
import { providerOf } from "../providers/all-providers.ts";
import { TransportFailure } from "../providers/transport.ts";
import {
  hasNativeSchema,
  logWarnings,
  requestId,
  sharedSettings,
  sourceOf,
  textSettings,
  wholeInstructions,
  type Adapter,
} from "./call-settings.ts";
import type { ModelCall, ModelResult } from "./model-adapter.ts";
import { createTextJoiner, searchSettings, sourceList, usageWithSearches } from "./web-search.ts";

const TEXT_ANSWER_BYTES_MAX = 8_388_608;

export async function callText(adapter: Adapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const { abortSignal, headers, providerOptions } = sharedSettings(call, signal);
  const search = searchSettings(adapter, call, providerOptions);
  if (search === null) {
    // Otherwise an answer without a search would look like one with a search.
    const sentence = "The model cannot search the web on this server.";
    return failure("bad_request", { retry: "never", breaker: "ignored", sentence });
  }
  const model = await languageModel(adapter, call);
  const options: LanguageModelV4CallOptions = {
    prompt: promptOf(call),
    ...textSettings(call),
    ...(hasNativeSchema(call) ? { responseFormat: { type: "json", schema: call.outputSchema as JSONSchema7 } } : {}),
    ...(call.mapping.reasoning === undefined ? {} : { reasoning: call.mapping.reasoning }),
    maxOutputTokens: call.maxOutputTokens,
    abortSignal,
    headers,
    ...search,
  };
  const { onText } = call;
  const answer = await (onText === null ? wholeAnswer(model, options) : writtenAnswer(model, options, onText));
  logWarnings(adapter, call.entry, answer.warnings);
  return read(answer, call);
}

/** A model's answer, received at once or piece by piece. */
interface Answer extends Pick<
  LanguageModelV4GenerateResult,
  "content" | "finishReason" | "usage" | "providerMetadata" | "warnings"
> {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

function read({ text, content, providerMetadata, headers, ...answer }: Answer, call: ModelCall): ModelResult {
  const { inputTokens, outputTokens, raw: rawUsage } = answer.usage;
  const reported = {
    inputTokens: inputTokens.total,
    cachedInputTokens: inputTokens.cacheRead,
    outputTokens: outputTokens.total,
  };
  const usage = usageWithSearches(textUsage(reported, call, text), call, { content, providerMetadata, rawUsage });
  if (Buffer.byteLength(text) > TEXT_ANSWER_BYTES_MAX) {
    return failure("too_large", { retry: "never", breaker: "counted", usage });
  }
  const reason = answer.finishReason.unified;
  if (reason === "content-filter") return { kind: "refused", usage };
  if (reason === "error" || reason === "interrupted") {
    return failure("protocol", { retry: "once", breaker: "counted", usage });
  }
  const truncated = reason === "length";
  if (text.trim() === "") {
    return failure(truncated ? "reasoned_only" : "empty", { retry: "never", breaker: "ignored", usage });
  }
  const named = content.filter((part) => part.type === "source");
  const sources = call.webSearch?.sources === true ? sourceList(named) : "";
  if (sources !== "") call.onText?.(sources);
  return { kind: "text", text: text + sources, truncated, usage, requestId: requestId(headers) };
}

function promptOf(call: ModelCall): LanguageModelV4CallOptions["prompt"] {
  const instructions = wholeInstructions(call);
  const { images, messages = [], prompt, correction } = call;
  const pictures = images.map(({ mediaType, bytes }) => {
    return { type: "file" as const, mediaType, data: { type: "data" as const, data: bytes } };
  });
  return [
    ...(instructions === "" ? [] : [{ role: "system" as const, content: instructions }]),
    ...messages.map(({ role, text }) => messageOf(role, text)),
    { role: "user", content: [...pictures, ...(prompt === "" ? [] : [textPart(prompt)])] },
    ...(correction === undefined
      ? []
      : [messageOf("assistant", correction.answer), messageOf("user", askedAgain(correction))]),
  ];
}

function messageOf(role: "user" | "assistant", text: string): LanguageModelV4Message {
  return { role, content: [textPart(text)] };
}

function textPart(text: string) {
  return { type: "text" as const, text };
}

function askedAgain({ problem }: NonNullable<ModelCall["correction"]>): string {
  return `This does not fit the JSON schema: ${problem}. Answer again, with the JSON alone.`;
}

async function wholeAnswer(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<Answer> {
  const { response, ...answer } = await model.doGenerate(options);
  return { ...answer, text: answer.content.map(createTextJoiner()).join(""), headers: response?.headers };
}

/** Gets the same answer piece by piece, for callers who follow a run. */
async function writtenAnswer(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  onText: (text: string) => void,
): Promise<Answer> {
  const { stream, response } = await model.doStream(options);
  const join = createTextJoiner();
  const content: LanguageModelV4Content[] = [];
  let text = "";
  let warnings: Answer["warnings"] = [];
  let end: Extract<LanguageModelV4StreamPart, { type: "finish" }> | null = null;
  for await (const part of stream) {
    if (part.type === "error") throw errorOf(part.error);
    else if (part.type === "stream-start") warnings = part.warnings;
    else if (part.type === "finish") end = part;
    else if (part.type === "source" || part.type === "tool-result") content.push(part);
    const piece = join(part.type === "text-delta" ? textPart(part.delta) : { type: part.type });
    if (piece !== "") onText(piece);
    text += piece;
  }
  if (end === null) throw new TransportFailure("protocol", "the provider ended its stream without saying why");
  return { ...end, text, content, warnings, headers: response?.headers };
}

/** A provider that fails midway reports it inside the stream, in its own format. */
function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new TransportFailure("sent", "the provider ended its stream with an error");
}

/** Reused across calls: a package rebuilds its schemas for every model object (a third of a call's CPU, measured 2026-11). */
async function languageModel(adapter: Adapter, call: ModelCall): Promise<LanguageModelV4> {
  const { entry, key } = call;
  const { models, isSimulated } = providerOf(entry.provider);
  if (models.text === null) throw new Error(`The provider ${entry.provider} does not generate text.`);
  const limits = { key, answerBytesMax: TEXT_ANSWER_BYTES_MAX };
  if (isSimulated) return models.text(sourceOf(adapter, entry, { ...limits, call })); // created per call
  const known = adapter.languageModels.get(entry) ?? [];
  adapter.languageModels.set(entry, known);
  return (known[key] ??= models.text(sourceOf(adapter, entry, { ...limits, call: null })));
}
