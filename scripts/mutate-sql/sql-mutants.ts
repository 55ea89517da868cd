/** Every change of one token in a function's body that could be an author's mistake. */
import type { SqlFunction } from "./sql-functions.ts";

export interface Mutant {
  readonly function: SqlFunction;
  /** The complete changed statement. */
  readonly text: string;
  /** Line of the file. */
  readonly line: number;
  /** The changed line before and after, without indentation. Together with the name, it identifies the mutant. */
  readonly before: string;
  readonly after: string;
}

interface Token {
  readonly text: string;
  readonly start: number;
}

/** A part of the statement. `end` is the first position after it. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Replacements, in both directions where that makes sense. */
const SWAPS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">"],
  "<=": ["<", ">"],
  ">": [">=", "<"],
  ">=": [">", "<"],
  "=": ["<>"],
  "<>": ["="],
  "+": ["-"],
  "-": ["+"],
  and: ["or"],
  or: ["and"],
  greatest: ["least"],
  least: ["greatest"],
  true: ["false"],
  false: ["true"],
  not: [""],
};

/** Comments and string literals count as one token each and are not changed. */
const TOKEN = /--[^\n]*|'(?:[^']|'')*'|:=|<=|>=|<>|\|\||::\w+|[<>=+\-*/,;()[\]:]|[\w.]+/g;
const WHOLE_NUMBER = /^\d+$/;
/** The tokens that end a condition of a where, a join, or an if. */
const CONDITION_END = new Set(
  "and or order group having returning limit for union then loop window join left cross on where ; ) else end when".split(
    " ",
  ),
);
const CONDITION_START = new Set(["where", "and"]);

export function findMutants(fn: SqlFunction): Mutant[] {
  const body = fn.text.slice(fn.bodyStart, fn.bodyEnd);
  const tokens = [...body.matchAll(TOKEN)].map((match) => ({ text: match[0], start: fn.bodyStart + match.index }));
  const mutants = tokens.flatMap((token, i) => [
    ...(isFiller(tokens, i) ? [] : swapsOf(token).map((text) => replace(fn, rangeOf(token), text))),
    ...conditionsAt(tokens, i).map((range) => replace(fn, range, "true")),
    ...locksAt(tokens, i).map((range) => replace(fn, range, "")),
  ]);
  return [...new Map(mutants.map((mutant) => [mutant.text, mutant])).values()];
}

/** The unused 1 in `perform 1 from` and `exists (select 1 from`. */
function isFiller(tokens: readonly Token[], at: number): boolean {
  const [before, verb] = [tokens[at - 2]?.text, tokens[at - 1]?.text];
  return verb === "perform" || (verb === "select" && before === "(" && tokens[at + 1]?.text === "from");
}

function swapsOf({ text }: Token): readonly string[] {
  if (WHOLE_NUMBER.test(text)) return [String(Number(text) + 1), String(Number(text) - 1)];
  return Object.hasOwn(SWAPS, text) ? (SWAPS[text] ?? []) : [];
}

/** The condition after a `where` or `and`, to be replaced by true. */
function conditionsAt(tokens: readonly Token[], at: number): Range[] {
  if (!CONDITION_START.has(tokens[at]?.text ?? "")) return [];
  let depth = 0;
  let last = at;
  for (let i = at + 1; i < tokens.length; i += 1) {
    const text = tokens[i]?.text ?? "";
    if (depth === 0 && CONDITION_END.has(text) && i > at + 1) break;
    depth += text === "(" ? 1 : 0;
    depth -= text === ")" ? 1 : 0;
    if (depth < 0) break;
    last = i;
  }
  return rangesOf(tokens.slice(at + 1, last + 1));
}

/** `for update`, including its `of`. */
function locksAt(tokens: readonly Token[], at: number): Range[] {
  if (tokens[at]?.text !== "for" || tokens[at + 1]?.text !== "update") return [];
  return rangesOf(tokens.slice(at, tokens[at + 2]?.text === "of" ? at + 4 : at + 2));
}

/** The range from the first of these tokens to the last; null for an empty list. */
function rangesOf(tokens: readonly Token[]): Range[] {
  const [first, last] = [tokens[0], tokens.at(-1)];
  return first === undefined || last === undefined ? [] : [{ start: first.start, end: rangeOf(last).end }];
}

function rangeOf({ text, start }: Token): Range {
  return { start, end: start + text.length };
}

function replace(fn: SqlFunction, { start, end }: Range, by: string): Mutant {
  const text = fn.text.slice(0, start) + by + fn.text.slice(end);
  const lineStart = fn.text.lastIndexOf("\n", start) + 1;
  const nextLine = fn.text.indexOf("\n", end);
  const lineEnd = nextLine === -1 ? fn.text.length : nextLine;
  const before = fn.text.slice(lineStart, lineEnd);
  const after = fn.text.slice(lineStart, start) + by + fn.text.slice(end, lineEnd);
  const line = fn.line + fn.text.slice(0, start).split("\n").length - 1;
  return { function: fn, text, line, before: squeeze(before), after: squeeze(after) };
}

function squeeze(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}
