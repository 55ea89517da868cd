import { Buffer } from "node:buffer";
import { cutBytes } from "../cut-bytes.ts";
import type { Directives } from "./directives.ts";
import { sampleOf } from "./json.ts";

/** The first line of every text, so that it is not mistaken for a model's work. */
const SANDBOX_NOTICE = "[sandbox output, not an AI model]";

/** The sandbox counts 4 bytes as one token, for input, output, and every limit. */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 85;

export interface TextParts {
  readonly model: string;
  readonly reasoning: string | null;
  readonly instructions: string;
  readonly prompt: string;
  readonly images: readonly { readonly bytes: Uint8Array }[];
  readonly maxOutputTokens: number;
  readonly messages?: readonly { readonly role: string; readonly text: string }[] | undefined;
  /** Web searches; null or absent: it may not search. */
  readonly searches?: number | null;
  readonly outputSchema?: { readonly [key: string]: unknown } | undefined;
}

/**
 * Writes the sandbox model's text: a header that shows what arrived, then the rendered prompt.
 * @param parts instructions and prompt without their directive lines.
 */
export function writeSandboxText(
  parts: TextParts,
  directives: Directives,
): { text: string; isTruncated: boolean; outputTokens: number } {
  if (directives.empty === true) return { text: "", isTruncated: false, outputTokens: 0 };
  const whole = composeText(parts, directives.dirty === true);
  if (directives.size !== undefined) {
    // Simulates a provider that ignores its limit: maxOutputTokens does not cap the size.
    const text = fitBytes(whole, directives.size * 1_024);
    return { text, isTruncated: false, outputTokens: directives.tokens ?? countTokens(text) };
  }
  if (directives.tokens !== undefined) {
    const outputTokens = Math.min(directives.tokens, parts.maxOutputTokens);
    const text = fitBytes(whole, outputTokens * BYTES_PER_TOKEN);
    return { text, isTruncated: directives.tokens > parts.maxOutputTokens, outputTokens };
  }
  const text = cutBytes(whole, parts.maxOutputTokens * BYTES_PER_TOKEN);
  return { text, isTruncated: text.length < whole.length, outputTokens: countTokens(text) };
}

/** Counts input as a provider would: everything that was sent, including directive lines. */
export function countInputTokens(texts: readonly string[], imageCount: number): number {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return Math.ceil(bytes / BYTES_PER_TOKEN) + TOKENS_PER_IMAGE * imageCount;
}

function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

function composeText(parts: TextParts, isDirty: boolean): string {
  if (parts.outputSchema !== undefined && !isDirty) return JSON.stringify(sampleOf(parts.outputSchema));
  const header = [
    SANDBOX_NOTICE,
    ...(isDirty ? ["dirty: \u0000 \ud800 \ufeff"] : []),
    `model: ${parts.model}`,
    `reasoning: ${parts.reasoning ?? "provider-default"}`,
    ...((parts.searches ?? null) === null ? [] : [`web searches: ${parts.searches}`]),
    `images: ${parts.images.length}`,
    ...parts.images.map(describeImage),
    "", // otherwise Markdown would read the lines above as a heading
    "---",
  ];
  const messages = (parts.messages ?? []).map(({ role, text }) => `${role}: ${text}`);
  return [...header, ...[parts.instructions, ...messages, parts.prompt].filter((text) => text !== "")].join("\n");
}

function describeImage(image: { readonly bytes: Uint8Array }): string {
  const header = readImageHeader(image.bytes);
  const size = `${image.bytes.byteLength} bytes`;
  return header === null ? `unreadable, ${size}` : `${header.type}, ${header.width} x ${header.height}, ${size}`;
}

function fitBytes(text: string, bytes: number): string {
  const cut = cutBytes(text, bytes);
  return cut + ".".repeat(bytes - Buffer.byteLength(cut));
}

/** The type and size in an image's header; the sandbox never decodes images. */
interface ImageHeader {
  readonly type: "png" | "jpeg";
  readonly width: number;
  readonly height: number;
}

/** @returns null if the bytes are not a PNG or JPEG, or end before the size. */
function readImageHeader(bytes: Uint8Array): ImageHeader | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.byteLength >= 24 && view.getUint32(0) === 0x89504e47) {
    return { type: "png", width: view.getUint32(16), height: view.getUint32(20) };
  }
  if (view.byteLength >= 4 && view.getUint16(0) === 0xffd8) return readJpegFrame(view);
  return null;
}

/** Walks the segments to the first start-of-frame marker (C0 to CF without DHT, JPG and DAC). */
function readJpegFrame(view: DataView): ImageHeader | null {
  let at = 2;
  while (at + 9 <= view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: "jpeg", height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    const isPadding = marker === 0xff;
    at += isPadding ? 1 : 2 + view.getUint16(at + 2);
  }
  return null;
}
