/**
 * Token counts that the SDK cannot read would make a paid response unreadable. Invalid counts are removed before the SDK
 * sees them, and estimated later like missing counts (pricing/usage.ts).
 */

import { changeLines } from "../event-lines.ts";
import { answerWhole, wholeAnswer } from "../whole-answer.ts";
import { isPlainObject, parseJson } from "../../platform/json.ts";

/** @param onUnreadable called once for each response that has unreadable counts. */
export function withReadableUsage(fetch: typeof globalThis.fetch, onUnreadable: () => void): typeof globalThis.fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (!answer.ok || answer.body === null) return answer;
    const type = answer.headers.get("content-type") ?? "";
    if (type.includes("event-stream")) return new Response(changeLines(answer.body, lineFixer(onUnreadable)), answer);
    const whole = await wholeAnswer(answer);
    const fixed = isPlain(whole.content) ? null : fixText(whole.content.toString("utf8"), onUnreadable);
    return fixed === null ? whole : answerWhole(Buffer.from(fixed), whole);
  };
}

/** Members whose names end like this must be numbers. */
const COUNT = /(?:tokens?|TokenCount)$/;
const BAD_COUNT =
  /(?:tokens?|TokenCount)"\s*:\s*(?!\d)|"usage(?:Metadata)?"\s*:\s*[^{\s]|(?:[dD]etails|iterations)"\s*:\s*["\dtf]/;
const REQUIRED = ["input_tokens", "output_tokens"];
const BOTH_COUNTS = [
  [/"input_tokens"\s*:\s*\d/, /"output_tokens"\s*:\s*\d/],
  [/"prompt_tokens"\s*:\s*\d/, /"completion_tokens"\s*:\s*\d/],
  [/"promptTokenCount"\s*:\s*\d/, /"candidatesTokenCount"\s*:\s*\d/],
] as const;

/**
 * Inspects only the bytes from the counts on: most responses have both counts, and parsing megabytes of picture data
 * would be wasteful.
 */
function isPlain(bytes: Buffer): boolean {
  const at = bytes.indexOf('"usage');
  if (at === -1) return !bytes.includes('"message"'); // Anthropic's responses are messages, and must have counts
  const text = bytes.toString("latin1", at);
  return !BAD_COUNT.test(text) && BOTH_COUNTS.some(([one, other]) => one.test(text) && other.test(text));
}

/** Fixes each line of an event stream. */
function lineFixer(onUnreadable: () => void): (line: string) => string {
  let isNoted = false;
  const noteOnce = () => {
    if (!isNoted) onUnreadable();
    isNoted = true;
  };
  return (line) => {
    const data = /^data:\s*(\{.*)$/s.exec(line)?.[1];
    const fixed = data === undefined || !data.includes('"usage') ? null : fixText(data, noteOnce);
    return fixed === null ? line : `data: ${fixed}`;
  };
}

/** Null: nothing to fix, or not JSON, which the SDK reports. */
function fixText(text: string, onUnreadable: () => void): string | null {
  const answer = parseJson(text);
  if (!isPlainObject(answer)) return null;
  const fixer = new UsageFixer();
  fixer.fixAnswer(answer);
  if (fixer.isUnreadable) onUnreadable();
  return fixer.isChanged ? JSON.stringify(answer) : null;
}

class UsageFixer {
  isChanged = false;
  /** True when a count has an invalid value; an absent count is normal. */
  isUnreadable = false;

  fixAnswer(answer: Record<string, unknown>): void {
    const { type, response, message } = answer;
    if (isPlainObject(response)) this.#fixUsage(response, "usage", REQUIRED); // an event of Responses
    if (isPlainObject(message)) this.#fixUsage(message, "usage", REQUIRED); // an event of Anthropic
    if (type === "message") this.#fixUsage(answer, "usage", REQUIRED, true);
    // Counts from earlier Anthropic events stay valid.
    else if (type === "message_delta") this.#fixUsage(answer, "usage", ["output_tokens"], true);
    else this.#fixUsage(answer, "usage", isPlainObject(answer["choices"]) || "data" in answer ? [] : REQUIRED);
    this.#fixUsage(answer, "usageMetadata", []);
  }

  #fixUsage(owner: Record<string, unknown>, name: string, required: readonly string[], mustBe = false): void {
    const usage = owner[name];
    const isAbsent = usage === undefined || usage === null;
    if (isAbsent && !mustBe) return;
    if (!isAbsent && !isPlainObject(usage)) this.isUnreadable = true;
    if (!isPlainObject(usage)) this.#set(owner, name, {});
    const counts = owner[name] as Record<string, unknown>;
    this.#fixCounts(counts, false);
    for (const count of required) if (counts[count] === undefined) this.#set(counts, count, 0); // counts as missing
  }

  /** In a list, each part must have its counts, so 0 replaces an invalid one. */
  #fixCounts(members: Record<string, unknown>, isInList: boolean): void {
    for (const [name, value] of Object.entries(members)) {
      const isPart = !COUNT.test(name);
      if (!isPart) this.#fixCount(members, name, isInList);
      else if (hasForm(name, value)) for (const part of partsOf(value)) this.#fixCounts(part, Array.isArray(value));
      else this.#drop(members, name);
    }
  }

  #fixCount(members: Record<string, unknown>, name: string, isInList: boolean): void {
    const value = members[name];
    if (isCount(value)) return;
    const isWritten = typeof value === "string" && /^\d{1,12}(?:\.\d{1,6})?$/.test(value.trim());
    if (!isWritten && value !== null) this.isUnreadable = true;
    this.#set(members, name, isWritten ? Number(value) : isInList ? 0 : undefined);
  }

  #drop(members: Record<string, unknown>, name: string): void {
    this.isUnreadable = true;
    this.#set(members, name, undefined);
  }

  #set(members: Record<string, unknown>, name: string, value: unknown): void {
    members[name] = value;
    this.isChanged = true;
  }
}

/** Checks what the SDK reads besides counts: lists of Gemini and Anthropic, and OpenAI's objects. */
function hasForm(name: string, value: unknown): boolean {
  if (value === null) return true;
  if (/Details$|^iterations$/.test(name)) return Array.isArray(value);
  return !name.endsWith("_details") || isPlainObject(value);
}

function partsOf(value: unknown): Record<string, unknown>[] {
  return (Array.isArray(value) ? value : [value]).filter(isPlainObject);
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
