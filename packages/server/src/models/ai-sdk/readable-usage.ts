/**
 * Token counts that the SDK cannot read would make a paid answer unreadable with them. What is no count is taken out
 * before the SDK sees it, and estimated later like a count that is missing (pricing/usage.ts).
 */

import { changeLines } from "../event-lines.ts";
import { answerWhole, wholeAnswer } from "../whole-answer.ts";
import { isPlainObject, parseJson } from "../../platform/json.ts";

/** @param onUnreadable told once for each answer that counts in a way that nobody can read. */
export function withReadableUsage(fetch: typeof globalThis.fetch, onUnreadable: () => void): typeof globalThis.fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (!answer.ok || answer.body === null) return answer;
    const type = answer.headers.get("content-type") ?? "";
    if (type.includes("event-stream")) return new Response(changeLines(answer.body, lineMender(onUnreadable)), answer);
    const whole = await wholeAnswer(answer);
    const mended = isPlain(whole.content) ? null : mendText(whole.content.toString("utf8"), onUnreadable);
    return mended === null ? whole : answerWhole(Buffer.from(mended), whole);
  };
}

/** A member whose name ends so must be a number. */
const COUNT = /(?:tokens?|TokenCount)$/;
const BAD_COUNT =
  /(?:tokens?|TokenCount)"\s*:\s*(?!\d)|"usage(?:Metadata)?"\s*:\s*[^{\s]|(?:[dD]etails|iterations)"\s*:\s*["\dtf]/;
const REQUIRED = ["input_tokens", "output_tokens"];
const BOTH_COUNTS = [
  [/"input_tokens"\s*:\s*\d/, /"output_tokens"\s*:\s*\d/],
  [/"prompt_tokens"\s*:\s*\d/, /"completion_tokens"\s*:\s*\d/],
  [/"promptTokenCount"\s*:\s*\d/, /"candidatesTokenCount"\s*:\s*\d/],
] as const;

/** Looked at as bytes from the counts on: most answers have both, and a picture of megabytes is not parsed for them. */
function isPlain(bytes: Buffer): boolean {
  const at = bytes.indexOf('"usage');
  if (at === -1) return !bytes.includes('"message"'); // Anthropic's answer is one, and must have counts
  const text = bytes.toString("latin1", at);
  return !BAD_COUNT.test(text) && BOTH_COUNTS.some(([one, other]) => one.test(text) && other.test(text));
}

/** For each line of a stream of events. */
function lineMender(onUnreadable: () => void): (line: string) => string {
  let isNoted = false;
  const noteOnce = () => {
    if (!isNoted) onUnreadable();
    isNoted = true;
  };
  return (line) => {
    const data = /^data:\s*(\{.*)$/s.exec(line)?.[1];
    const mended = data === undefined || !data.includes('"usage') ? null : mendText(data, noteOnce);
    return mended === null ? line : `data: ${mended}`;
  };
}

/** Null: there is nothing to mend, or it is not JSON, which is the SDK's to say. */
function mendText(text: string, onUnreadable: () => void): string | null {
  const answer = parseJson(text);
  if (!isPlainObject(answer)) return null;
  const mending = new Mending();
  mending.mendAnswer(answer);
  if (mending.isUnreadable) onUnreadable();
  return mending.isChanged ? JSON.stringify(answer) : null;
}

class Mending {
  isChanged = false;
  /** Something stood where a count belongs; one that is absent is usual. */
  isUnreadable = false;

  mendAnswer(answer: Record<string, unknown>): void {
    const { type, response, message } = answer;
    if (isPlainObject(response)) this.#mendUsage(response, "usage", REQUIRED); // an event of Responses
    if (isPlainObject(message)) this.#mendUsage(message, "usage", REQUIRED); // an event of Anthropic
    if (type === "message") this.#mendUsage(answer, "usage", REQUIRED, true);
    // What came before the last event of Anthropic counts on.
    else if (type === "message_delta") this.#mendUsage(answer, "usage", ["output_tokens"], true);
    else this.#mendUsage(answer, "usage", isPlainObject(answer["choices"]) || "data" in answer ? [] : REQUIRED);
    this.#mendUsage(answer, "usageMetadata", []);
  }

  #mendUsage(owner: Record<string, unknown>, name: string, required: readonly string[], mustBe = false): void {
    const usage = owner[name];
    const isAbsent = usage === undefined || usage === null;
    if (isAbsent && !mustBe) return;
    if (!isAbsent && !isPlainObject(usage)) this.isUnreadable = true;
    if (!isPlainObject(usage)) this.#set(owner, name, {});
    const counts = owner[name] as Record<string, unknown>;
    this.#mendCounts(counts, false);
    for (const count of required) if (counts[count] === undefined) this.#set(counts, count, 0); // which is none
  }

  /** In a list each part must have its counts, so that 0 stands for one that is none. */
  #mendCounts(members: Record<string, unknown>, isInList: boolean): void {
    for (const [name, value] of Object.entries(members)) {
      const isPart = !COUNT.test(name);
      if (!isPart) this.#mendCount(members, name, isInList);
      else if (hasForm(name, value)) for (const part of partsOf(value)) this.#mendCounts(part, Array.isArray(value));
      else this.#drop(members, name);
    }
  }

  #mendCount(members: Record<string, unknown>, name: string, isInList: boolean): void {
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

/** Of what the SDK reads beside counts: lists of Gemini and Anthropic, and OpenAI's objects. */
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
