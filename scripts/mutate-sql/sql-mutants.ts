/** Every change of one token of a function's body that could be a slip of its author. */
import type { SqlFunction } from "./sql-functions.ts";

export interface Mutant {
  readonly function: SqlFunction;
  /** The whole changed statement. */
  readonly text: string;
  /** Line of the migration. */
  readonly line: number;
  /** The changed line before and after, without its indentation; together with the name it is the mutant's identity. */
  readonly before: string;
  readonly after: string;
}

interface Token {
  readonly text: string;
  readonly start: number;
}

/** What stands for what; each pair both ways where that makes sense. */
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

/** Comments and string literals count as one token each, and are left alone. */
const TOKEN = /--[^\n]*|'(?:[^']|'')*'|:=|<=|>=|<>|\|\||::\w+|[<>=+\-*/,;()[\]:]|[\w.]+/g;
const WHOLE_NUMBER = /^\d+$/;
/** What ends one condition of a where, a join or an if. */
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
    ...(isFiller(tokens, i) ? [] : swapsOf(token).map((text) => replace(fn, token, text))),
    ...conditionsAt(tokens, i).map((range) => replace(fn, range, "true")),
    ...locksAt(tokens, i).map((range) => replace(fn, range, "")),
  ]);
  return [...new Map(mutants.map((mutant) => [mutant.text, mutant])).values()];
}

/** The 1 of `perform 1 from` and of `exists (select 1 from`: nobody reads it. */
function isFiller(tokens: readonly Token[], at: number): boolean {
  const [before, verb] = [tokens[at - 2]?.text, tokens[at - 1]?.text];
  return verb === "perform" || (verb === "select" && before === "(" && tokens[at + 1]?.text === "from");
}

function swapsOf({ text }: Token): readonly string[] {
  if (WHOLE_NUMBER.test(text)) return [String(Number(text) + 1), String(Number(text) - 1)];
  return Object.hasOwn(SWAPS, text) ? (SWAPS[text] ?? []) : [];
}

/** The condition behind a `where` or `and`, to be taken as fulfilled. */
function conditionsAt(tokens: readonly Token[], at: number): Token[] {
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
  return last === at ? [] : [span(tokens, at + 1, last)];
}

/** `for update`, with its `of`. */
function locksAt(tokens: readonly Token[], at: number): Token[] {
  if (tokens[at]?.text !== "for" || tokens[at + 1]?.text !== "update") return [];
  return [span(tokens, at, tokens[at + 2]?.text === "of" ? at + 3 : at + 1)];
}

function span(tokens: readonly Token[], first: number, last: number): Token {
  const [from, to] = [tokens[first], tokens[last]];
  if (from === undefined || to === undefined) return { text: "", start: 0 };
  return { text: " ".repeat(to.start + to.text.length - from.start), start: from.start };
}

function replace(fn: SqlFunction, token: Token, by: string): Mutant {
  const text = fn.text.slice(0, token.start) + by + fn.text.slice(token.start + token.text.length);
  const lineStart = fn.text.lastIndexOf("\n", token.start) + 1;
  const nextLine = fn.text.indexOf("\n", token.start + token.text.length);
  const lineEnd = nextLine === -1 ? fn.text.length : nextLine;
  const before = fn.text.slice(lineStart, lineEnd);
  const after =
    before.slice(0, token.start - lineStart) + by + before.slice(token.start - lineStart + token.text.length);
  const line = fn.line + fn.text.slice(0, token.start).split("\n").length - 1;
  return { function: fn, text, line, before: squeeze(before), after: squeeze(after) };
}

function squeeze(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}
