/**
 * Converts nonstandard responses of OpenAI-compatible servers into the format that the SDK reads: an error with status
 * 200 becomes an error, and a model's visible thoughts are removed from its answer.
 */

import { changeLines } from "../event-lines.ts";
import { answerWhole, wholeAnswer } from "../whole-answer.ts";
import { isPlainObject, parseJson, type PlainObject } from "../../platform/json.ts";

/** Like a transport's fetch; responses that it cannot read are passed on unchanged. */
export async function readLeniently(answer: Response): Promise<Response> {
  if (!answer.ok || answer.body === null) return answer;
  const type = answer.headers.get("content-type") ?? "";
  if (type.includes("event-stream")) return new Response(changeLines(answer.body, thoughtRemover()), answer);
  const whole = await wholeAnswer(answer);
  const { content } = whole;
  const parsed = content.includes('"error"') || content.includes("think>") ? readJson(content.toString("utf8")) : null;
  if (parsed === null) return whole;
  const error = errorInside(parsed);
  if (error !== null) return Response.json({ error }, { status: statusOf(error), headers: delayOf(answer) });
  const choices = choicesOf(parsed);
  if (choices.length === 0) return whole;
  const spoken = { ...parsed, choices: choices.map(withoutThoughts) };
  return answerWhole(Buffer.from(JSON.stringify(spoken)), whole);
}

/** Null: the SDK will report that it could not read the response. */
function readJson(text: string): PlainObject | null {
  const parsed = parseJson(text);
  return isPlainObject(parsed) ? parsed : null;
}

function choicesOf({ choices }: PlainObject): readonly PlainObject[] {
  return Array.isArray(choices) ? choices.filter(isPlainObject) : [];
}

/** OpenRouter reports a provider that failed midway inside the choice. */
function errorInside(answer: PlainObject): PlainObject | null {
  const errors = [answer["error"], ...choicesOf(answer).map((choice) => choice["error"])];
  const [error] = errors.filter((each) => isPlainObject(each) || (typeof each === "string" && each !== ""));
  if (error === undefined) return null;
  return isPlainObject(error) ? error : { message: error };
}

const BAD_GATEWAY = 502;

function statusOf({ code, status }: PlainObject): number {
  const named = [code, status].map(Number).find((each) => Number.isInteger(each) && each >= 400 && each < 600);
  return named ?? BAD_GATEWAY;
}

function delayOf(answer: Response): Record<string, string> {
  const delay = answer.headers.get("retry-after");
  return delay === null ? {} : { "retry-after": delay };
}

const OPENING = "<think>";
const CLOSING = "</think>";

/** Some servers put the opening tag in the prompt, so only the closing tag comes back, on a line of its own. */
const THOUGHT_BEFORE = /^(?:(?!<think>)[\s\S])*?<\/think>[ \t]*(?:\n|$)\s*/;

/** The answer after the thought; "" if the thought never ended. */
export function withoutThought(text: string): string {
  const start = text.trimStart();
  if (!start.startsWith(OPENING)) return text.replace(THOUGHT_BEFORE, "");
  const end = start.indexOf(CLOSING);
  return end === -1 ? "" : start.slice(end + CLOSING.length).trimStart();
}

function withoutThoughts(choice: PlainObject): PlainObject {
  const { message } = choice;
  if (!isPlainObject(message) || typeof message["content"] !== "string") return choice;
  return { ...choice, message: { ...message, content: withoutThought(message["content"]) } };
}

/** The same for a streamed answer: only a thought at its beginning can be recognized. */
function thoughtRemover(): (line: string) => string {
  const filters = new Map<unknown, ThoughtFilter>();
  return (line) => filterLine(line, filters);
}

function filterLine(line: string, filters: Map<unknown, ThoughtFilter>): string {
  const event = line.startsWith("data:") ? readJson(line.slice("data:".length)) : null;
  if (event === null || choicesOf(event).length === 0) return line;
  const choices = choicesOf(event).map((choice) => {
    const filter = filters.get(choice["index"]) ?? createThoughtFilter();
    filters.set(choice["index"], filter);
    const { delta } = choice;
    const given = isPlainObject(delta) && typeof delta["content"] === "string" ? delta["content"] : "";
    const isLast = typeof choice["finish_reason"] === "string";
    const content = filter(given, isLast);
    if (content === given) return choice;
    return { ...choice, delta: { ...(isPlainObject(delta) ? delta : {}), content } };
  });
  return `data: ${JSON.stringify({ ...event, choices })}`;
}

/** Returns the part of the next piece that belongs to the answer. */
type ThoughtFilter = (piece: string, isLast: boolean) => string;

function createThoughtFilter(): ThoughtFilter {
  let state: "begins" | "thinks" | "thought" | "answers" = "begins";
  let held = "";
  return (piece, isLast) => {
    held += piece;
    if (state === "begins") {
      const start = held.trimStart();
      if (start.startsWith(OPENING)) state = "thinks";
      else if (isLast || !OPENING.startsWith(start)) state = "answers";
    }
    if (state === "thinks" && held.includes(CLOSING)) {
      held = held.slice(held.indexOf(CLOSING) + CLOSING.length);
      state = "thought";
    }
    if (state === "thought") {
      held = held.trimStart();
      if (held !== "") state = "answers";
    }
    if (state !== "answers") return "";
    const answer = held;
    held = "";
    return answer;
  };
}
