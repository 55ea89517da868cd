/** Responses in each provider's documented format, as far as this service's calls can request them. */
import { Buffer } from "node:buffer";

/** One red pixel. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);
/** Begins like an MP4; nothing here decodes it. */
export const MP4 = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from("ftypisom"), Buffer.alloc(64)]);

export const TEXT = "A short answer.";
const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 3 },
};

export function chatAnswer(change: { text?: string; finish?: string; usage?: unknown } = {}) {
  return {
    id: "chat-1",
    object: "chat.completion",
    created: 1_790_000_000,
    model: "m",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: change.text ?? TEXT },
        finish_reason: change.finish ?? "stop",
      },
    ],
    usage: "usage" in change ? change.usage : USAGE,
  };
}

export function responsesAnswer(change: { text?: string; incomplete?: string; refusal?: string } = {}) {
  const content =
    change.refusal === undefined
      ? { type: "output_text", text: change.text ?? TEXT, annotations: [] }
      : { type: "refusal", refusal: change.refusal };
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_790_000_000,
    status: change.incomplete === undefined ? "completed" : "incomplete",
    incomplete_details: change.incomplete === undefined ? null : { reason: change.incomplete },
    model: "m",
    output: [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [content] }],
    usage: {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 16,
    },
  };
}

export function messagesAnswer(change: { text?: string; stop?: string } = {}) {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: change.stop === "refusal" ? [] : [{ type: "text", text: change.text ?? TEXT }],
    stop_reason: change.stop ?? "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 8, cache_read_input_tokens: 3, cache_creation_input_tokens: 0, output_tokens: 5 },
  };
}

export function geminiAnswer(change: { isImage?: boolean; finish?: string; blockReason?: string } = {}) {
  const part =
    change.isImage === true ? { inlineData: { mimeType: "image/png", data: PNG.toString("base64") } } : { text: TEXT };
  const usageMetadata = {
    promptTokenCount: 11,
    cachedContentTokenCount: 3,
    candidatesTokenCount: 3,
    thoughtsTokenCount: 2,
    totalTokenCount: 16,
  };
  if (change.blockReason !== undefined) return { promptFeedback: { blockReason: change.blockReason }, usageMetadata };
  const finishReason = change.finish ?? "STOP";
  const content =
    finishReason === "STOP" || finishReason === "MAX_TOKENS" ? { role: "model", parts: [part] } : undefined;
  return { candidates: [{ content, finishReason, index: 0 }], usageMetadata };
}

export function openaiImages() {
  return {
    created: 1_790_000_000,
    data: [{ b64_json: PNG.toString("base64") }],
    usage: { input_tokens: 20, output_tokens: 272, total_tokens: 292 },
  };
}

export function falImage(url: string, change: { isNsfw?: boolean } = {}) {
  const images = [{ url, width: 1, height: 1, content_type: "image/png" }];
  return { images, has_nsfw_concepts: [change.isNsfw ?? false], seed: 1 };
}

/** @param url address of the job in the queue: its state is at /status. */
export function falQueued(url: string) {
  return {
    status: "IN_QUEUE",
    request_id: "1",
    response_url: url,
    status_url: `${url}/status`,
    cancel_url: `${url}/cancel`,
    queue_position: 0,
  };
}

export function replicatePrediction(url: string, status: string, output: string | null, error: string | null = null) {
  return { id: "p1", status, output, error, urls: { get: url, cancel: `${url}/cancel` }, metrics: { predict_time: 1 } };
}
