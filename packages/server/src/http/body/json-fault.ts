/**
 * Finds where a text stops being JSON. `JSON.parse` reports a position only for some faults and quotes the body for the
 * others. This runs after it has failed.
 */
const SPACE = /[ \t\n\r]*/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Half a sentence: "unexpected '}' at position 41", "unexpected end at position 12". */
export function describeJsonFault(text: string): string {
  const at = findJsonFault(text);
  if (at >= text.length) return `unexpected end at position ${text.length}`;
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0xfffd);
  const isPlain = /^[^\p{C}\p{Z}]$/u.test(char);
  const shown = isPlain ? `'${char}'` : `U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
  return `unexpected ${shown} at position ${at}`;
}

/** What may come next. */
type Expected = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end";

/** Returns the index of the first character that is not allowed where it is; the text's length if it ends too early. */
function findJsonFault(text: string): number {
  const open: string[] = [];
  let expected: Expected = "value";
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const step = nextStep(text, at, expected, open);
    if (step === null) return faultInside(text, at, expected);
    expected = step.expected;
    at = skipSpace(text, step.at);
    if (open.length === 0 && expected === ", or end") return at;
  }
  return text.length;
}

interface Step {
  readonly at: number;
  readonly expected: Expected;
}

function nextStep(text: string, at: number, expected: Expected, open: string[]): Step | null {
  const char = text.charAt(at);
  if (expected === ":") return char === ":" ? { at: at + 1, expected: "value" } : null;
  if (expected === "key" || expected === "key or }") {
    if (char === '"') return after(endOfString(text, at), ":");
    return expected === "key or }" ? close(char, at, open) : null;
  }
  if (expected === ", or end") {
    if (char === ",") return { at: at + 1, expected: open.at(-1) === "{" ? "key" : "value" };
    return close(char, at, open);
  }
  if (char === "{" || char === "[") {
    open.push(char);
    return { at: at + 1, expected: char === "{" ? "key or }" : "value or ]" };
  }
  if (char === "]" && expected === "value or ]") return close(char, at, open);
  return after(char === '"' ? endOfString(text, at) : endOf(SCALAR, text, at), ", or end");
}

function close(char: string, at: number, open: string[]): Step | null {
  const opening = char === "}" ? "{" : char === "]" ? "[" : "";
  if (opening === "" || open.at(-1) !== opening) return null;
  open.pop();
  return { at: at + 1, expected: ", or end" };
}

function after(end: number | null, expected: Expected): Step | null {
  return end === null ? null : { at: end, expected };
}

function endOf(form: RegExp, text: string, at: number): number | null {
  form.lastIndex = at;
  return form.test(text) ? form.lastIndex : null;
}

function skipSpace(text: string, at: number): number {
  return endOf(SPACE, text, at) ?? at;
}

function endOfString(text: string, at: number): number | null {
  const end = scanString(text, at);
  return text.charAt(end) === '"' ? end + 1 : null;
}

/** Returns the index of the closing quotation mark, or of the first character that a text cannot contain. */
function scanString(text: string, at: number): number {
  let i = at + 1;
  while (i < text.length) {
    const unit = text.charCodeAt(i);
    if (unit === 0x22 || unit < 0x20) return i;
    if (unit !== 0x5c) {
      i += 1;
      continue;
    }
    const next = endOf(ESCAPE, text, i);
    if (next === null) return i;
    i = next;
  }
  return i;
}

/** Places a fault inside a text where the text breaks, not where it begins. */
function faultInside(text: string, at: number, expected: Expected): number {
  const takesText = expected !== ":" && expected !== ", or end";
  return takesText && text.charAt(at) === '"' ? scanString(text, at) : at;
}
