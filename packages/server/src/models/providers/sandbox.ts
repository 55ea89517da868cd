/**
 * The sandbox as SDK models, so that its runs take the same path as runs of a real provider. A SandboxFailure passes
 * through the SDK unchanged and is then read like a provider's own error.
 */
import { z } from "zod";
import type {
  Experimental_VideoModelV4 as VideoModelV4,
  ImageModelV4,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import {
  createSandboxTimer,
  pollSandboxVideo,
  runSandboxImage,
  runSandboxText,
  startSandboxVideo,
  type SandboxRequest,
  type SandboxTextRequest,
  type SandboxTimer,
} from "../sandbox/sandbox-provider.ts";
import { ALL_FEATURES, type ModelSource, type Provider } from "./provider.ts";

type Call = NonNullable<ModelSource["call"]>;

export const sandbox: Provider = {
  id: "sandbox",
  settings: null,
  address: null,
  apis: null,
  isSimulated: true,
  models: {
    text: async (source) => textModel(callOf(source), createSandboxTimer(source.clock)),
    image: async (source) => imageModel(callOf(source), createSandboxTimer(source.clock)),
    video: async (source) => videoModel(source, createSandboxTimer(source.clock)),
  },
  textFeatures: () => ALL_FEATURES,
  webSearch: {
    ask: () => ({ tool: null }), // the call itself says so
    count: ({ rawUsage }) => searchUsage.safeParse(rawUsage).data?.searches ?? null,
  },
  embeddings: null,
  modelList: null,
  jobs: null,
  cancel: () => "not-needed", // nothing runs between two polls
  // It fails with OpenAI's error codes.
  failures: {
    answers: {},
    declinedJobs: [],
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: null,
};

const searchUsage = z.object({ searches: z.number() });

function callOf({ call }: ModelSource): Call {
  if (call === null) throw new Error("A poll cannot start anything.");
  return call;
}

function textModel(call: Call, timer: SandboxTimer): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "sandbox",
    modelId: call.model,
    supportedUrls: {},
    doGenerate: (options) => generateText(call, options, timer),
    doStream: (options) => streamText(call, options, timer),
  };
}

async function generateText(
  call: Call,
  options: LanguageModelV4CallOptions,
  timer: SandboxTimer,
): Promise<LanguageModelV4GenerateResult> {
  const request = {
    ...call,
    ...readPrompt(options.prompt),
    reasoning: options.reasoning ?? null,
    maxOutputTokens: options.maxOutputTokens ?? call.maxOutputTokens,
  };
  const { text, finishReason, usage, searches } = await runSandboxText(request, timer, signalOf(options));
  return {
    content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...sourcesOf(searches)],
    finishReason: { unified: finishReason, raw: undefined },
    usage: {
      inputTokens: { total: usage?.inputTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: usage?.outputTokens, text: undefined, reasoning: undefined },
      ...(searches === null ? {} : { raw: { searches } }),
    },
    warnings: [],
  };
}

/** One source per search, at a domain that nobody can own. */
function sourcesOf(searches: number | null): LanguageModelV4Source[] {
  return Array.from({ length: searches ?? 0 }, (_, at) => ({
    type: "source",
    sourceType: "url",
    id: String(at + 1),
    url: `https://sandbox.example/${at + 1}`,
    title: `Sandbox source ${at + 1}`,
  }));
}

const PIECES = 20;

/** Streams the same text over the second half of the call's intended duration. */
async function streamText(
  call: Call,
  options: LanguageModelV4CallOptions,
  timer: SandboxTimer,
): Promise<LanguageModelV4StreamResult> {
  let pauseMs = 0;
  const half: SandboxTimer = {
    ...timer,
    wait: (ms, signal) => {
      pauseMs = ms / 2 / PIECES;
      return timer.wait(ms / 2, signal);
    },
  };
  const { content, finishReason, usage, warnings } = await generateText(call, options, half);
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const size = Math.ceil(text.length / PIECES);
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
    yield { type: "stream-start", warnings };
    if (text !== "") yield { type: "text-start", id: "0" };
    for (let at = 0; at < text.length; at += size) {
      if (pauseMs > 0) await timer.wait(pauseMs, signalOf(options));
      yield { type: "text-delta", id: "0", delta: text.slice(at, at + size) };
    }
    if (text !== "") yield { type: "text-end", id: "0" };
    for (const part of content) if (part.type === "source") yield part;
    yield { type: "finish", finishReason, usage };
  }
  return { stream: ReadableStream.from(parts()) };
}

/** Reads the call as the SDK converted it, so that a mistake on the way shows in the sandbox's text. */
function readPrompt(prompt: LanguageModelV4Prompt): Pick<SandboxTextRequest, "instructions" | "prompt" | "images"> {
  const instructions = prompt.flatMap((message) => (message.role === "system" ? [message.content] : []));
  const parts = prompt.flatMap((message) => (message.role === "user" ? message.content : []));
  return {
    instructions: instructions.join(""),
    prompt: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""),
    images: parts.flatMap((part) => {
      if (part.type !== "file" || part.data.type !== "data" || typeof part.data.data === "string") return [];
      return [{ bytes: part.data.data, mediaType: part.mediaType }];
    }),
  };
}

function imageModel(request: SandboxRequest, timer: SandboxTimer): ImageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "sandbox",
    modelId: request.model,
    maxImagesPerCall: 1,
    doGenerate: async (options) => {
      const { images, usage } = await runSandboxImage(
        { ...request, size: options.size ?? null },
        timer,
        signalOf(options),
      );
      return {
        images,
        warnings: [],
        response: responseOf(request.model, timer),
        ...(usage === null ? {} : { usage: { ...usage, totalTokens: undefined } }),
      };
    },
  };
}

function videoModel(source: ModelSource, timer: SandboxTimer): VideoModelV4 {
  const model = source.providerModel;
  return {
    specificationVersion: "v4",
    provider: "sandbox",
    modelId: model,
    maxVideosPerCall: 1,
    doStart: async (options) => {
      const { v, clip, readyAt } = await startSandboxVideo(
        { ...callOf(source), durationSeconds: options.duration ?? null },
        timer,
        signalOf(options),
      );
      return { operation: { v, clip, readyAt }, warnings: [], response: responseOf(model, timer) };
    },
    doStatus: async (options) => {
      const status = await pollSandboxVideo(options.operation, timer);
      const response = responseOf(model, timer);
      if (status.status === "pending") return { status: "pending", response };
      const videos = status.videos.map(({ bytes, mediaType }) => ({ type: "binary" as const, data: bytes, mediaType }));
      return { status: "completed", videos, warnings: [], response };
    },
  };
}

function signalOf(options: { abortSignal?: AbortSignal | undefined }): AbortSignal {
  return options.abortSignal ?? new AbortController().signal;
}

function responseOf(model: string, timer: SandboxTimer) {
  return { timestamp: new Date(timer.nowMs()), modelId: model, headers: undefined };
}
