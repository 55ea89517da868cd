import { BODY_MEMBERS_MAX } from "@promptd/contract";
import { Problem } from "../../platform/problem.ts";
import { decodeUtf8, withoutMark } from "./decode-utf8.ts";
import { describeJsonFault } from "./json-fault.ts";
import { isEscaped, parseAroundTexts, type TextSpan } from "./large-texts.ts";

/** Deeper nesting than any request needs; the parser itself would overflow its stack at 10,000 levels. */
const DEPTH_MAX = 32;
/** Commas and colons outside texts, for each member. */
const SEPARATORS_OF_MEMBER = 2;

/**
 * Bytes outside texts, and quotation marks inside them, for each member: what is looked at one by one. With 10,000
 * members that is more than 1 MiB. The texts of a valid run hold at most 1 MiB, its images no quotation marks.
 */
const STEPS_OF_MEMBER = 125;

/** Read within a few milliseconds; of a larger body all texts that are not small are read in slices of the event loop. */
const AT_ONCE_BYTES_MAX = 1_048_576;
/** Small texts of 10,000 members have 10 MiB at most. No name in a body that is read in slices may be longer. */
const SMALL_TEXT_BYTES_MAX = 1_024;
const POSITION_UNKNOWN = "it is larger than 1 MiB, so the position was not looked for";

const QUOTE = 0x22;
const COLON = 0x3a;
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
export async function parseJsonBody(
  bytes: Buffer,
  contentType: string | null,
  membersMax = BODY_MEMBERS_MAX,
): Promise<unknown> {
  if (bytes.length === 0) return {};
  const texts: TextSpan[] = []; // those that are not small
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

/** Names the header, since a body of another kind is the likeliest mistake. */
export function unreadable(contentType: string, detail = ""): Problem {
  const named = contentType.split(";")[0]?.trim().slice(0, 100) ?? "";
  return badBody(
    `The body could not be read as JSON (Content-Type: ${named})${detail}. Send JSON with "Content-Type: application/json".`,
  );
}

/** One pass over the raw bytes before anything is built from them; texts are skipped at the speed of a byte search. */
function structureFault(bytes: Buffer, membersMax: number, texts: TextSpan[]): string | null {
  const stepsMax = STEPS_OF_MEMBER * membersMax;
  const separatorsMax = SEPARATORS_OF_MEMBER * membersMax;
  let depth = 0;
  let separators = 0;
  let steps = 0;
  let textBytes = 0; // of the last one
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
      if (i === -1) {
        texts.push({ start, end: bytes.length }); // a text without an end, which the parser reports
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
        return `The request body is large and has a member whose name is longer than ${SMALL_TEXT_BYTES_MAX.toLocaleString("en-US")} bytes (before byte ${i}).`;
      }
      if (separators > separatorsMax)
        return `The request body has too many members; ${membersMax.toLocaleString("en-US")} are enough.`;
    }
  }
  return null;
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
