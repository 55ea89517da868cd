import { BODY_MEMBERS_MAX } from "@promptd/contract";
import { isAscii, isUtf8 } from "node:buffer";
import { Problem } from "../../platform/problem.ts";
import { describeJsonFault } from "./json-fault.ts";

/** Deeper nesting than any request needs; the parser itself would overflow its stack at 10,000 levels. */
const DEPTH_MAX = 32;
/** Commas and colons outside texts, for each member. */
const SEPARATORS_OF_MEMBER = 2;

/**
 * Bytes outside texts, and quotation marks inside them, for each member: what is looked at one by one. With 10,000
 * members that is more than 1 MiB. The texts of a valid run hold at most 1 MiB, its images no quotation marks.
 */
const STEPS_OF_MEMBER = 125;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = 1;
const CLOSING = 2;
const SEPARATOR = 3;
const TEXT = 4;
/** What a byte means outside texts; 0: nothing. A table, since this is looked up for every byte of a body. */
const MEANING = new Uint8Array(256);
for (const char of "[{") MEANING[char.charCodeAt(0)] = OPENING;
for (const char of "]}") MEANING[char.charCodeAt(0)] = CLOSING;
for (const char of ",:") MEANING[char.charCodeAt(0)] = SEPARATOR;
MEANING[QUOTE] = TEXT;

/**
 * Bytes of a request body to a JSON value; an empty body is `{}`. Strict where the platform is lenient: invalid UTF-8
 * would become U+FFFD, deep nesting a stack overflow, `__proto__` a trap for code that copies the object.
 * @throws Problem BAD_REQUEST_ERROR that says what is wrong and where.
 */
export function parseJsonBody(bytes: Buffer, contentType: string | null, membersMax = BODY_MEMBERS_MAX): unknown {
  if (bytes.length === 0) return {};
  const fault = structureFault(bytes, membersMax);
  if (fault !== null) throw badBody(fault);
  const text = decodeText(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw notJson(text, contentType, error);
  }
  refuseTrapKeys(value);
  return value;
}

function badBody(message: string, cause?: unknown): Problem {
  return new Problem("BAD_REQUEST_ERROR", message, { cause });
}

function notJson(text: string, contentType: string | null, cause: unknown): Problem {
  const fault = describeJsonFault(text);
  if (contentType === null || /\bjson\b/i.test(contentType)) {
    return badBody(`The request body is not valid JSON: ${fault}.`, cause);
  }
  return unreadable(contentType, `: ${fault}`);
}

/** Names the header, since a body of another kind is the likeliest mistake. */
export function unreadable(contentType: string, detail = ""): Problem {
  const named = contentType.split(";")[0]?.trim().slice(0, 100) ?? "";
  return badBody(
    `The body could not be read as JSON (Content-Type: ${named})${detail}. Send JSON with "Content-Type: application/json".`,
  );
}

/** One pass over the raw bytes before anything is built from them; texts are skipped at the speed of a byte search. */
function structureFault(bytes: Uint8Array, membersMax: number): string | null {
  const stepsMax = STEPS_OF_MEMBER * membersMax;
  const separatorsMax = SEPARATORS_OF_MEMBER * membersMax;
  let depth = 0;
  let separators = 0;
  let steps = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    steps += 1;
    if (steps > stepsMax)
      return `The request body has more than ${Math.floor(stepsMax / 2 ** 20)} MiB outside its texts.`;
    const meaning = MEANING[bytes[i] ?? 0];
    if (meaning === 0) continue;
    if (meaning === TEXT) {
      const start = i + 1;
      for (i = bytes.indexOf(QUOTE, start); i !== -1 && isEscaped(bytes, i, start); steps += 1) {
        i = bytes.indexOf(QUOTE, i + 1);
      }
      if (i === -1) return null; // a text without an end, which the parser reports
    } else if (meaning === OPENING) {
      depth += 1;
      if (depth > DEPTH_MAX) return `The request body is nested deeper than ${DEPTH_MAX} levels (at byte ${i}).`;
    } else if (meaning === CLOSING) {
      depth -= 1;
    } else {
      separators += 1;
      if (separators > separatorsMax)
        return `The request body has too many members; ${membersMax.toLocaleString("en-US")} are enough.`;
    }
  }
  return null;
}

function isEscaped(bytes: Uint8Array, at: number, from: number): boolean {
  let backslashes = 0;
  while (at - 1 - backslashes >= from && bytes[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

/** A byte order mark before the text is accepted and dropped. */
function decodeText(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString("latin1"); // 31 MiB in 3 ms instead of 12
  if (!isUtf8(bytes)) throw badBody(`The request body is not valid UTF-8 (at byte ${invalidByteAt(bytes)}).`);
  const text = bytes.toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

const WINDOW_BYTES = 16_384;

/** Index of the first byte that no UTF-8 text has there. Only called for bytes that have one. */
function invalidByteAt(bytes: Uint8Array): number {
  let start = 0;
  const windows = new TextDecoder("utf-8", { fatal: true });
  while (start < bytes.length && canDecode(windows, bytes.subarray(start, start + WINDOW_BYTES))) start += WINDOW_BYTES;
  // Step back to where the character cut by the window begins, then go byte by byte.
  let at = Math.min(start, bytes.length);
  while (at > 0 && ((bytes[at] ?? 0x80) & 0xc0) === 0x80 && start - at < 3) at -= 1;
  const single = new TextDecoder("utf-8", { fatal: true });
  while (at < bytes.length && canDecode(single, bytes.subarray(at, at + 1))) at += 1;
  return at;
}

function canDecode(decoder: InstanceType<typeof TextDecoder>, part: Uint8Array): boolean {
  try {
    decoder.decode(part, { stream: true });
    return true;
  } catch {
    return false; // which is the answer
  }
}

/** `JSON.parse` makes `__proto__` an ordinary member; code that later copies or merges the object would set its prototype. */
function refuseTrapKeys(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Object.hasOwn(value, "__proto__")) {
    throw badBody('The request body has a member named "__proto__". Remove or rename it.');
  }
  for (const [key, member] of Object.entries(value)) {
    if (key === "constructor" && typeof member === "object" && member !== null && Object.hasOwn(member, "prototype")) {
      throw badBody('The request body has a member "constructor" that holds "prototype". Remove or rename it.');
    }
    refuseTrapKeys(member);
  }
}
