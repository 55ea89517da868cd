import { BODY_MEMBERS_MAX } from "@promptd/contract";
import { Problem } from "../../platform/problem.ts";
import { decodeUtf8, withoutMark } from "./decode-utf8.ts";
import { describeJsonFault } from "./json-fault.ts";
import { isEscaped, parseAroundTexts, type TextSpan } from "./large-texts.ts";

/** More than any request needs; the parser itself would overflow its stack at 10,000 levels. */
const DEPTH_MAX = 32;
/** Commas and colons outside texts, per member. */
const SEPARATORS_OF_MEMBER = 2;

/**
 * Bytes outside texts, plus quotation marks inside them, per member: what is examined one by one. For 10,000 members
 * that is more than 1 MiB. The texts of a valid run have at most 1 MiB, and its images contain no quotation marks.
 */
const STEPS_OF_MEMBER = 125;

/** Read within a few milliseconds. In larger bodies, all texts that are not small are read in event loop slices. */
const AT_ONCE_BYTES_MAX = 1_048_576;
/** Small texts of 10,000 members add up to at most 10 MiB. In a body that is read in slices, no name may be longer. */
const SMALL_TEXT_BYTES_MAX = 1_024;
const POSITION_UNKNOWN = "the position is not reported for bodies larger than 1 MiB";

const QUOTE = 0x22;
const COLON = 0x3a;
const OPENING = 1;
const CLOSING = 2;
const SEPARATOR = 3;
const TEXT = 4;
/** What a byte means outside texts; 0: nothing. A table, because it is read for every byte of a body. */
const MEANING = new Uint8Array(256);
for (const char of "[{") MEANING[char.charCodeAt(0)] = OPENING;
for (const char of "]}") MEANING[char.charCodeAt(0)] = CLOSING;
for (const char of ",:") MEANING[char.charCodeAt(0)] = SEPARATOR;
MEANING[QUOTE] = TEXT;

/**
 * Parses the bytes of a request body as JSON; an empty body is `{}`. Stricter than Node, where invalid UTF-8 would
 * become U+FFFD, deep nesting a stack overflow, and `__proto__` a trap for code that copies the object.
 * @throws Problem BAD_REQUEST_ERROR that says what is wrong and where.
 */
export async function parseJsonBody(
  bytes: Buffer,
  contentType: string | null,
  membersMax = BODY_MEMBERS_MAX,
): Promise<unknown> {
  if (bytes.length === 0) return {};
  const texts: TextSpan[] = []; // only texts that are not small
  const fault = structureFault(bytes, membersMax, texts);
  if (fault !== null) throw badBody(fault);
  try {
    const value = bytes.length > AT_ONCE_BYTES_MAX ? await parseAroundTexts(bytes, texts) : JSON.parse(textOf(bytes));
    refuseTrapKeys(value);
    return value;
  } catch (error) {
    throw error instanceof SyntaxError ? notJson(bytes, contentType, error) : error;
  }
}

function textOf(bytes: Buffer): string {
  return withoutMark(decodeUtf8(bytes));
}

function badBody(message: string, cause?: unknown): Problem {
  return new Problem("BAD_REQUEST_ERROR", message, { cause });
}

function notJson(bytes: Buffer, contentType: string | null, cause: unknown): Problem {
  const fault = bytes.length > AT_ONCE_BYTES_MAX ? POSITION_UNKNOWN : describeJsonFault(textOf(bytes));
  if (contentType === null || /\bjson\b/i.test(contentType)) {
    return badBody(`The request body is not valid JSON: ${fault}.`, cause);
  }
  return unreadable(contentType, `: ${fault}`);
}

/** Names the Content-Type, because a body of another type is the likeliest mistake. */
export function unreadable(contentType: string, detail = ""): Problem {
  const named = contentType.split(";")[0]?.trim().slice(0, 100) ?? "";
  return badBody(
    `The request body could not be read as JSON (Content-Type: ${named})${detail}. Send JSON with "Content-Type: application/json".`,
  );
}

/** Checks the raw bytes in one pass before anything is built from them; texts are skipped at byte search speed. */
function structureFault(bytes: Buffer, membersMax: number, texts: TextSpan[]): string | null {
  const stepsMax = STEPS_OF_MEMBER * membersMax;
  const separatorsMax = SEPARATORS_OF_MEMBER * membersMax;
  let depth = 0;
  let separators = 0;
  let steps = 0;
  let textBytes = 0; // of the last text
  for (let i = 0; i < bytes.length; i += 1) {
    steps += 1;
    if (steps > stepsMax)
      return `The request body has more than ${Math.floor(stepsMax / 2 ** 20)} MiB outside its strings.`;
    const meaning = MEANING[bytes[i] ?? 0];
    if (meaning === 0) continue;
    if (meaning === TEXT) {
      const start = i + 1;
      for (i = bytes.indexOf(QUOTE, start); i !== -1 && isEscaped(bytes, i, start); steps += 1) {
        i = bytes.indexOf(QUOTE, i + 1);
      }
      if (i === -1) {
        texts.push({ start, end: bytes.length }); // the parser reports a text without an end
        return null;
      }
      textBytes = i - start;
      if (textBytes > SMALL_TEXT_BYTES_MAX) texts.push({ start, end: i });
    } else if (meaning === OPENING) {
      depth += 1;
      if (depth > DEPTH_MAX) return `The request body is nested deeper than ${DEPTH_MAX} levels (at byte ${i}).`;
    } else if (meaning === CLOSING) {
      depth -= 1;
    } else {
      separators += 1;
      if (bytes[i] === COLON && textBytes > SMALL_TEXT_BYTES_MAX && bytes.length > AT_ONCE_BYTES_MAX) {
        return `The request body is larger than 1 MiB and has a member name longer than ${SMALL_TEXT_BYTES_MAX.toLocaleString("en-US")} bytes (before byte ${i}).`;
      }
      if (separators > separatorsMax)
        return `The request body has too many members; at most ${membersMax.toLocaleString("en-US")} are allowed.`;
    }
  }
  return null;
}

/** `JSON.parse` makes `__proto__` an ordinary member; code that copies or merges the object would set its prototype. */
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
