import { randomUUID } from "node:crypto";
import { createTimeSlice } from "../../platform/time-slice.ts";
import { decodeUtf8, withoutMark } from "./decode-utf8.ts";

/** A text in a body, without its quotation marks: bytes from `start` to before `end`. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

const BACKSLASH = 0x5c;
/** Read within a millisecond. */
const PIECE_BYTES = 256 * 1_024;
/** An escape has at most six bytes, `\u0041`. */
const ESCAPE_BYTES_MAX = 6;

/**
 * Parses a body in event loop slices: first everything except the given texts, then these piece by piece. One
 * `JSON.parse` of 31 MiB blocked everyone for 35 to 100 ms, mostly while the system allocated new memory (2026-11-23).
 * A text of many pieces is a rope: code that only passes it on never flattens it.
 * @param texts Values in the order of the body, never names of members.
 * @throws SyntaxError as `JSON.parse` does, and Problem BAD_REQUEST_ERROR if the body is not UTF-8.
 */
export async function parseAroundTexts(bytes: Buffer, texts: readonly TextSpan[]): Promise<unknown> {
  // A stand-in for each text. Nobody can guess them, so no body can contain them.
  const standIns = new Map(texts.map((span) => [randomUUID() as string, span]));
  const parsed: unknown = JSON.parse(withoutMark(decodeRest(bytes, standIns)));
  const found = new Map<string, string>();
  const slice = createTimeSlice();
  for (const [standIn, { start, end }] of standIns) {
    let text = "";
    for (let at = start; at < end;) {
      const next = pieceEnd(bytes, at, end);
      text += readPiece(decodeUtf8(bytes.subarray(at, next), at));
      at = next;
      if (slice.isOver()) await slice.yieldToEventLoop();
    }
    found.set(standIn, text);
  }
  return withTexts(parsed, found);
}

/**
 * Characters with a special meaning in a JSON text: the start of an escape, or a control character, which is a fault.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what this searches for
const NOT_PLAIN = /[\\\u0000-\u001f]/;

/** Returns plain pieces as they are, which most are: `JSON.parse` would copy them twice. */
function readPiece(piece: string): string {
  return NOT_PLAIN.test(piece) ? (JSON.parse(`"${piece}"`) as string) : piece;
}

function decodeRest(bytes: Buffer, standIns: ReadonlyMap<string, TextSpan>): string {
  let rest = "";
  let at = 0;
  for (const [standIn, { start, end }] of standIns) {
    rest += decodeUtf8(bytes.subarray(at, start), at) + standIn;
    at = end;
  }
  return rest + decodeUtf8(bytes.subarray(at), at);
}

/** Never inside a character or an escape. */
function pieceEnd(bytes: Buffer, start: number, end: number): number {
  let at = start + PIECE_BYTES;
  if (at >= end) return end;
  while (((bytes[at] ?? 0) & 0xc0) === 0x80 && at > start + PIECE_BYTES / 2) at -= 1;
  for (let before = at - 1; before > at - ESCAPE_BYTES_MAX; before -= 1) {
    if (bytes[before] === BACKSLASH && isEscaped(bytes, before + 1, start)) return before;
  }
  return at;
}

/** Whether an odd number of backslashes precedes it. */
export function isEscaped(bytes: Uint8Array, at: number, from: number): boolean {
  let backslashes = 0;
  while (at - 1 - backslashes >= from && bytes[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

function withTexts(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return texts.get(value) ?? value;
  if (Array.isArray(value)) return value.map((member) => withTexts(member, texts));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withTexts(member, texts)]));
}
