import { SandboxFailure } from "./sandbox-failure.ts";

/** What a prompt's directive lines ask for; absent members were not named. For units, see the sandbox docs. */
export interface Directives {
  readonly delay?: number;
  readonly error?: number;
  readonly retryafter?: number;
  readonly flaky?: number;
  readonly quota?: true;
  readonly reset?: true;
  readonly hang?: true;
  readonly garble?: true;
  readonly refuse?: true;
  readonly empty?: true;
  readonly partial?: number;
  readonly searches?: number;
  readonly tokens?: number;
  readonly input?: number;
  readonly nousage?: true;
  readonly dirty?: true;
  readonly size?: number;
}

export type DirectiveReading =
  | { readonly kind: "read"; readonly directives: Directives; readonly texts: readonly string[] }
  /** `word` as typed: unknown, repeated, or with an invalid value. */
  | { readonly kind: "faulty"; readonly word: string };

type ValueRule = null | { readonly min: number; readonly max: number } | { readonly oneOf: readonly number[] };

/** Every directive with its allowed values; null: no value. */
const RULES: Readonly<Record<keyof Directives, ValueRule>> = {
  delay: { min: 0, max: 600_000 },
  error: { oneOf: [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529] },
  retryafter: { min: 0, max: 3_600 },
  flaky: { min: 1, max: 3 },
  quota: null,
  reset: null,
  hang: null,
  garble: null,
  refuse: null,
  empty: null,
  partial: { min: 0, max: 16 },
  searches: { min: 0, max: 20 },
  tokens: { min: 1, max: 100_000 },
  // Large enough that one call can report more input than any hold covers.
  input: { min: 0, max: 1_000_000_000 },
  nousage: null,
  dirty: null,
  size: { min: 1, max: 102_400 },
};

const LINE_START = "sandbox:";

/**
 * Collects the directives of all texts and returns the texts without the directive lines.
 * A line that begins with `sandbox:` is always a directive line: a mistake such as `sandbox:delay=5` or
 * `sandbox: Delay=5` is a fault, since a test that silently tests nothing is worse than a failing one.
 * @param authorsText only lines that appear in it verbatim are directive lines, whatever a caller writes; null: all are.
 */
export function readDirectives(texts: readonly string[], authorsText: string | null): DirectiveReading {
  const words: string[] = [];
  const isObeyed = obeyedLines(authorsText);
  const cleaned = texts.map((text) => takeDirectiveLines(text, isObeyed, words));
  const directives: Record<string, number | true> = {};
  for (const word of words) {
    const read = readDirective(word);
    if (read === null || Object.hasOwn(directives, read.name)) return { kind: "faulty", word };
    directives[read.name] = read.value;
  }
  return { kind: "read", directives, texts: cleaned };
}

/** The 400 for a faulty directive; its message is for the caller of the run. */
export function directiveFault(word: string): SandboxFailure {
  return new SandboxFailure("directive", `Sandbox: unknown or invalid directive '${quotable(word)}'.`, {
    httpStatus: 400,
    code: "bad_request",
  });
}

/** Template tags end a line here: the text between them is entirely the author's. */
const TAGS = /\{%[^]*?%\}/g;

function obeyedLines(authorsText: string | null): (line: string) => boolean {
  if (authorsText === null) return () => true;
  if (!authorsText.includes(LINE_START)) return () => false;
  const lines = authorsText.replaceAll(TAGS, "\n").split(/\r\n|\r|\n/);
  const written = new Set(lines.map((line) => line.trim()).filter((line) => !line.includes("{{")));
  return (line) => written.has(line.trim());
}

/** Adds the words of the directive lines to `words` and returns the text without those lines. */
function takeDirectiveLines(text: string, isObeyed: (line: string) => boolean, words: string[]): string {
  if (!text.includes(LINE_START)) return text; // avoids splitting a million-line prompt
  const others: string[] = [];
  for (const [line, content = ""] of text.matchAll(/([^\r\n]*)(?:\r\n|\r|\n|$)/g)) {
    const found = isObeyed(content) ? directiveWords(content) : null;
    if (found === null) others.push(line);
    else words.push(...found);
  }
  return others.join("");
}

/** Null: not a directive line. */
function directiveWords(line: string): string[] | null {
  const trimmed = line.trim();
  if (!trimmed.startsWith(LINE_START)) return null;
  const rest = trimmed.slice(LINE_START.length);
  if (!rest.startsWith(" ")) return [trimmed];
  return rest.split(" ").filter((word) => word !== "");
}

function readDirective(word: string): { name: string; value: number | true } | null {
  const match = /^([a-z]+)(?:=([A-Za-z0-9.-]+))?$/.exec(word);
  const name = match?.[1];
  if (name === undefined || !isDirective(name)) return null;
  const rule = RULES[name];
  const value = match?.[2];
  if (rule === null) return value === undefined ? { name, value: true } : null;
  if (value === undefined || !/^[0-9]{1,10}$/.test(value)) return null;
  const number = Number(value);
  const isAllowed = "oneOf" in rule ? rule.oneOf.includes(number) : number >= rule.min && number <= rule.max;
  return isAllowed ? { name, value: number } : null;
}

function isDirective(name: string): name is keyof Directives {
  return Object.hasOwn(RULES, name);
}

const QUOTED_POINTS_MAX = 40;

/** The word is part of an error item that clients print to terminals, so it is short and has no control characters. */
function quotable(word: string): string {
  const points = Array.from(word.slice(0, 2 * QUOTED_POINTS_MAX + 2).toWellFormed());
  const quoted = points.slice(0, QUOTED_POINTS_MAX).map(escapeControl).join("");
  return points.length > QUOTED_POINTS_MAX ? `${quoted}…` : quoted;
}

function escapeControl(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  return isControl ? `\\u${code.toString(16).padStart(4, "0")}` : character;
}
