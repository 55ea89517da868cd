import { Liquid, Tokenizer, toValue, type Context } from "liquidjs";

/**
 * The template language: Liquid, restricted by allowlists. Adding a tag or filter later is compatible, removing one is
 * not. Never allow `include` and `render`, which read files, or `capture`, which multiplies output. `for` iterates only
 * over list inputs, whose length is limited, and cannot be nested.
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

/**
 * Filter -> minimum and maximum number of arguments. A wrong number would throw in a run, perhaps only in one branch.
 */
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

/** Names that a template cannot read directly: it must read such keys as `input["…"]`. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(
  "input steps forloop tablerowloop blank empty nil null true false and or not contains __proto__".split(" "),
);

/** UTF-16 units of one template. */
export const TEMPLATE_LENGTH_MAX = 100_000;

/**
 * Operators and `when` values in one template. One tag may contain several, and the time limit is not checked between
 * them: comparing 100 KiB texts 6,000 times took 6 s (measured 2026-11).
 */
export const COMPARISONS_MAX = 500;

/**
 * Outputs, tags, and filters in all templates of a prompt; in a loop, each counts LIST_ITEMS_MAX times. A check renders
 * the whole prompt for each of its samples, and the time limit applies only to each rendering. 10,000 take 40 ms, and
 * 40 messages of 3,000 each, with ten samples, took 9 s (measured 2026-11). No seed prompt has more than 9.
 */
export const WORK_MAX = 10_000;
/** One comparison of 100 KiB texts may take a millisecond. */
export const COMPARISON_WORK = 5;

/** Maximum parts of a split text. Comparing two lists takes up to a microsecond per part. */
const PARTS_MAX = 1_000;

/**
 * Wall time, so it must be far above what a valid template needs on a paused or starved machine: 14,000 outputs took 40 ms
 * alone, and 10,000 outputs over a second next to other tests on a slow machine (measured 2026-11). The other limits bound
 * the work itself.
 */
const RENDER_MS_MAX = 10_000;
/** Total units that the filters of one rendering may copy. The size of the output is checked separately. */
const FILTER_UNITS_MAX = 1_000_000;

export const engine = createEngine();

function createEngine(): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictVariables: true,
    strictFilters: true,
    templates: {}, // partials come from this empty object, never from disk
    locale: "en-US", // the same output on every machine; also, detecting the machine's own locale adds 7 ms to startup
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

/** Like Liquid's own split, and Ruby's, drops empty parts at the end. */
function splitWithin(this: { readonly context: Context }, value: unknown, separator: unknown): string[] {
  const text = textOf(value);
  this.context.memoryLimit.use(text.length);
  const parts = text.split(textOf(separator), PARTS_MAX + 1);
  if (parts.length > PARTS_MAX) throw new RangeError("split limit exceeded");
  while (parts.at(-1) === "") parts.pop();
  return parts;
}

/** Returns nil for a missing part: Liquid's own undefined would make the name that it is assigned to unknown. */
function partAt(value: unknown, index: number): unknown {
  const plain: unknown = toValue(value);
  return Array.isArray(plain) || typeof plain === "string" ? (plain.at(index) ?? null) : "";
}

/** Converts a value as an output prints it: lists without separators, nothing for nil. */
function textOf(value: unknown): string {
  const plain: unknown = toValue(value);
  if (Array.isArray(plain)) return plain.map(textOf).join("");
  return typeof plain === "string" || typeof plain === "number" || typeof plain === "boolean" ? String(plain) : "";
}

/** Removes the prototype too: `{% constructor %}` must be as unknown as `{% include %}`. */
function allowOnly(table: object, isAllowed: (name: string) => boolean): void {
  Object.setPrototypeOf(table, null);
  for (const name of Object.keys(table)) if (!isAllowed(name)) Reflect.deleteProperty(table, name);
}

/** Creates a reader of expressions over a part of `text`, with this language's operators. */
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

/** The expression that reads this key in a template. */
export function expressionOf(key: string): string {
  return isDirectName(key) ? key : `input[${JSON.stringify(key)}]`;
}
