import { Liquid, Tokenizer, toValue, type Context } from "liquidjs";

/**
 * The template language: Liquid, restricted by allow-lists. Adding a tag or filter later is compatible, removing one is
 * not. `include` and `render` read files, `capture` multiplies output: they may not be allowed. `for` goes over a list input
 * only, whose items are bounded, and not inside another.
 */
export const ALLOWED_TAGS: ReadonlySet<string> = new Set([
  "if",
  "unless",
  "case",
  "for",
  "assign",
  "comment",
  "raw",
  "#",
]);

/** Filter -> fewest and most arguments. A wrong number would throw in a run, or only in one branch of it. */
export const ALLOWED_FILTERS: ReadonlyMap<string, readonly [min: number, max: number]> = new Map([
  ["default", [1, 1]],
  ["upcase", [0, 0]],
  ["downcase", [0, 0]],
  ["capitalize", [0, 0]],
  ["strip", [0, 1]],
  ["lstrip", [0, 1]],
  ["rstrip", [0, 1]],
  ["strip_newlines", [0, 0]],
  ["append", [1, 1]],
  ["prepend", [1, 1]],
  ["replace", [2, 2]],
  ["remove", [1, 1]],
  ["truncate", [0, 2]],
  ["truncatewords", [0, 2]],
  ["split", [1, 1]],
  ["join", [0, 1]],
  ["first", [0, 0]],
  ["last", [0, 0]],
  ["size", [0, 0]],
  ["json", [0, 0]],
  ["plus", [1, 1]],
  ["minus", [1, 1]],
  ["times", [1, 1]],
  ["divided_by", [1, 2]],
  ["modulo", [1, 1]],
  ["round", [0, 1]],
  ["number_of_words", [0, 1]],
]);

/** Names a template cannot read directly: a key of that name is reached by `input["…"]` only. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(
  "input steps forloop tablerowloop blank empty nil null true false and or not contains __proto__".split(" "),
);

/** UTF-16 units of one template. */
export const TEMPLATE_LENGTH_MAX = 100_000;

/**
 * Operators and `when` values of one template. One tag may contain several, and the time limit is not checked
 * between them: comparing 100 KiB texts 6,000 times took 6 s there (measured 2026-11).
 */
export const COMPARISONS_MAX = 500;

/**
 * Outputs, tags and filters of all templates of a prompt, and LIST_ITEMS_MAX times those in a loop: a prompt is rendered
 * as a whole, for each of its samples when it is checked, and each rendering only has a time limit of its own. 10,000
 * take 40 ms, and 40 messages of 3,000 each, with ten samples, took 9 s (measured 2026-11). No seed prompt has over 9.
 */
export const WORK_MAX = 10_000;
/** One comparison of 100 KiB texts may take a millisecond. */
export const COMPARISON_WORK = 5;

/** Parts a text may be split into: two lists are compared part by part, up to a microsecond each. */
const PARTS_MAX = 1_000;

/**
 * Wall time, so it must be far above what a legal template needs: 14,000 outputs took 40 ms alone and over 100 ms on a
 * machine with four times more work than processors (measured 2026-11). The other limits bound the work itself.
 */
const RENDER_MS_MAX = 1_000;
/** Units the filters of one rendering may copy in all; it does not bound the output, which is checked by itself. */
const FILTER_UNITS_MAX = 1_000_000;

export const engine = createEngine();

function createEngine(): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictVariables: true,
    strictFilters: true,
    templates: {}, // partials come from this empty object, never from the disk
    locale: "en-US", // a rendering is the same on every machine; and to ask the machine for its own takes 7 ms of a start
    parseLimit: TEMPLATE_LENGTH_MAX,
    renderLimit: RENDER_MS_MAX,
    memoryLimit: FILTER_UNITS_MAX,
  });
  allowOnly(liquid.tags, (name) => ALLOWED_TAGS.has(name));
  allowOnly(liquid.filters, (name) => ALLOWED_FILTERS.has(name));
  liquid.registerFilter("split", splitWithin);
  liquid.registerFilter("first", (value: unknown) => partAt(value, 0));
  liquid.registerFilter("last", (value: unknown) => partAt(value, -1));
  return liquid;
}

/** Liquid's own split drops empty parts at the end, as Ruby does; so does this one. */
function splitWithin(this: { readonly context: Context }, value: unknown, separator: unknown): string[] {
  const text = textOf(value);
  this.context.memoryLimit.use(text.length);
  const parts = text.split(textOf(separator), PARTS_MAX + 1);
  if (parts.length > PARTS_MAX) throw new RangeError("split limit exceeded");
  while (parts.at(-1) === "") parts.pop();
  return parts;
}

/** Nil where there is no part: Liquid's own answer, undefined, would make the name it is assigned to an unknown one. */
function partAt(value: unknown, index: number): unknown {
  const plain: unknown = toValue(value);
  return Array.isArray(plain) || typeof plain === "string" ? (plain.at(index) ?? null) : "";
}

/** How an output prints a value: lists without separators, nothing for nil. */
function textOf(value: unknown): string {
  const plain: unknown = toValue(value);
  if (Array.isArray(plain)) return plain.map(textOf).join("");
  return typeof plain === "string" || typeof plain === "number" || typeof plain === "boolean" ? String(plain) : "";
}

/** The prototype goes too: `{% constructor %}` must be as unknown as `{% include %}`. */
function allowOnly(table: object, isAllowed: (name: string) => boolean): void {
  Object.setPrototypeOf(table, null);
  for (const name of Object.keys(table)) if (!isAllowed(name)) Reflect.deleteProperty(table, name);
}

/** A reader of expressions over a part of `text`, with the operators of this language. */
export function readerOf(text: string, range: readonly [number, number] = [0, text.length]): Tokenizer {
  return new Tokenizer(text, engine.options.operators, undefined, [range[0], range[1]]);
}

/** True when `{{ key }}` reads exactly this key; every other key needs `{{ input["key"] }}`. */
export function isDirectName(key: string): boolean {
  if (RESERVED_NAMES.has(key)) return false;
  const name = readerOf(key).readIdentifier();
  if (name.begin !== 0 || name.end !== key.length || key === "") return false;
  return readerOf(key).readNumber() === undefined; // `7` is the number, `7up` a name
}

/** How a template reads this key. */
export function expressionOf(key: string): string {
  return isDirectName(key) ? key : `input[${JSON.stringify(key)}]`;
}
