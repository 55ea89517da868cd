/**
 * Converts one record of the prompt collections to one prompt in the JSON import format.
 *
 * Each collection marks its inputs differently; its rules are in `findPlaceholders` and `listNamedInputs`. Anything that
 * still looks like Liquid after the conversion is source text, so it is wrapped in a raw block.
 */

/** One record of the collected catalogue; `text` is the source's whole template, unchanged. */
export interface SourceRecord {
  readonly id: string;
  readonly source: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly modality: "text" | "image";
  readonly variables: readonly { readonly name: string; readonly default?: string }[];
  readonly text: string;
}

/** What the review decided about one input of the source. */
interface InputDecision {
  readonly key?: string;
  readonly label?: string;
  readonly description?: string;
  /** `null` removes the source's default, so the input becomes required. */
  readonly default?: string | null;
  readonly options?: readonly string[];
}

/** One line of the reviewed list: the record and what the review changed about it. */
export interface SelectionEntry {
  readonly id: string;
  readonly title?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly model?: string;
  /** The text that a caller sends to a prompt that was written as the start of a chat. */
  readonly ask?: { readonly key: string; readonly label: string; readonly description?: string };
  readonly images?: readonly { readonly label: string; readonly description: string }[];
  readonly inputs?: Readonly<Record<string, InputDecision>>;
  /** Literal replacements in the source text, made before anything else; each `find` must occur in it. */
  readonly edits?: readonly (readonly [find: string, replacement: string])[];
}

interface ImportedInput {
  label: string;
  description?: string;
  default?: string;
  options?: readonly string[];
}

/** One prompt in the JSON import format. */
interface ImportedPrompt {
  readonly title: string;
  readonly slug: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly model: string;
  readonly inputs?: Readonly<Record<string, ImportedInput>>;
  readonly images?: readonly { readonly label: string; readonly description: string }[];
  readonly instructions?: string;
  readonly template: string;
  readonly "x-source": string;
  readonly "x-source-id": string;
}

type Piece = { readonly text: string } | { readonly name: string; readonly default: string | null };

/** Names reserved by Liquid or the template context; inputs with these names can only be read as `input[...]`. */
const RESERVED = new Set("input steps forloop blank empty nil null true false and or not contains".split(" "));
const WORDS_NOT_TAGS = new Set(["the", "and", "for", "with", "of", "to", "a", "an", "in", "on", "your", "other"]);
/** The request at the end of a chat prompt from prompts.chat: an example, not part of the instructions. */
const EXAMPLE_REQUEST =
  /\s*\b(?:My|The) (?:first|initial|current|second)\b[^"“'‘.]{0,80}["“'‘]+([\s\S]{3,400}?)["”'’]+[.)]?\s*$/u;

/** Converts one record. Throws if an edit from the review no longer matches the source text. */
export function convertRecord(record: SourceRecord, entry: SelectionEntry): ImportedPrompt {
  const edited = applyEdits(stripFraming(record), record.id, entry.edits ?? []);
  const { body, example } = entry.ask === undefined ? { body: edited, example: null } : splitExample(edited);
  const pieces = findPlaceholders(record, entry, body);
  const inputs = new Map<string, ImportedInput>();
  const converted = writePieces(pieces, (name, value) => addInput(inputs, entry, { name, default: value }));
  const named = record.source === "useful-ai-prompts" ? listNamedInputs(record) : [];
  const lines = named.map(
    (item) => `${item.name}: ${placeholder(addInput(inputs, entry, { ...item, default: null }))}`,
  );
  if (entry.ask !== undefined) lines.push(addAsk(inputs, entry.ask, example));
  const title = entry.title ?? record.title;
  const splits = lines.length > 0 && record.modality === "text";
  return {
    title,
    slug: slugOf(title),
    description: entry.description ?? record.description,
    tags: entry.tags ?? cleanTags(record.tags),
    model: entry.model ?? roleOf(record, entry),
    ...(inputs.size === 0 ? {} : { inputs: Object.fromEntries(inputs) }),
    ...(entry.images === undefined ? {} : { images: entry.images }),
    ...(splits ? { instructions: converted } : {}),
    template: splits ? lines.join("\n") : [converted, ...lines].join("\n\n"),
    "x-source": record.source,
    "x-source-id": record.id,
  };
}

/** Seed prompts name a role, so that they run on the models that an installation has. */
function roleOf({ modality }: SourceRecord, { images = [] }: SelectionEntry): string {
  if (modality !== "image") return "text-default";
  return images.length === 0 ? "image-default" : "image-edit-default";
}

/** `Crème Brûlée: 2-for-1` becomes `creme-brulee-2-for-1`. */
function slugOf(title: string): string {
  const plain = title.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return plain
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .replaceAll(/^-|-$/gu, "")
    .slice(0, 80)
    .replace(/-$/u, "");
}

/**
 * Escapes source text so that Liquid prints it unchanged. Braces that would open an output or a tag are wrapped in a raw
 * block, and so is a brace at the end of a piece, since a placeholder may follow it.
 */
export function escapeLiquid(text: string): string {
  return text.replaceAll(/\{+%|\{{2,}|\{+$/gu, (run) => `{% raw %}${run}{% endraw %}`);
}

/** Removes what the collections put around a template. */
function stripFraming(record: SourceRecord): string {
  const text = record.text.trim();
  if (record.source === "useful-ai-prompts") return text.replace(/(?:\s*\n(?:```|---))+\s*$/u, "");
  if (record.source === "fabric") return text.replace(FABRIC_INPUT_MARK, "");
  return text;
}

function applyEdits(text: string, id: string, edits: readonly (readonly [string, string])[]): string {
  let edited = text;
  for (const [find, replacement] of edits) {
    if (!edited.includes(find)) throw new Error(`Record ${id}: the text to replace was not found: ${find}`);
    edited = edited.replaceAll(find, () => replacement);
  }
  return edited.trim();
}

function splitExample(text: string): { body: string; example: string | null } {
  const match = EXAMPLE_REQUEST.exec(text);
  if (match === null) return { body: text, example: null };
  return { body: text.slice(0, match.index), example: (match[1] ?? "").trim() };
}

/** Splits a text into literal pieces and inputs, by the markers of its collection. */
function findPlaceholders(record: SourceRecord, entry: SelectionEntry, text: string): Piece[] {
  const names = new Set([...record.variables.map((item) => item.name), ...Object.keys(entry.inputs ?? {})]);
  const defaults = new Map(record.variables.map((item) => [item.name, item.default ?? null]));
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(PATTERNS[record.source] ?? /$^/gu)) {
    const name = (match[1] ?? "").trim();
    // In some prompts, `${...}` is code: only names that the record or the review lists are inputs.
    if (!names.has(name)) continue;
    pieces.push({ text: text.slice(end, match.index) }, { name, default: match[2] ?? defaults.get(name) ?? null });
    end = match.index + match[0].length;
  }
  return [...pieces, { text: text.slice(end) }];
}

/** The heading under which a fabric pattern expects its input, once or twice, possibly followed by a fence or dots. */
const FABRIC_INPUT_MARK = /(?:\s*\n[*#]*\s?(?:[A-Z]+ ){0,2}INPUT:?%?\**)+(?:\s*(?:```|…))?\s*$/u;

const PATTERNS: Readonly<Record<string, RegExp>> = {
  "prompts.chat": /\$\{([^{}:]+)(?::([^{}]*))?\}/gu,
  "evolink-gpt-image-2": /\{argument name="([^"]+)"(?: default="([^"]*)")?\}|\[([A-Z][A-Z ]+)\]/gu,
  fabric: /\{\{([a-z_]+)\}\}/gu,
};

function writePieces(pieces: readonly Piece[], declare: (name: string, value: string | null) => string): string {
  return pieces
    .map((piece) => ("text" in piece ? escapeLiquid(piece.text) : placeholder(declare(piece.name, piece.default))))
    .join("");
}

function placeholder(key: string): string {
  const plain = /^[A-Za-z_][A-Za-z0-9_]*$/u.test(key) && !RESERVED.has(key);
  return plain ? `{{ ${key} }}` : `{{ input[${JSON.stringify(key)}] }}`;
}

/** Lists the inputs that a useful-ai-prompts record has under "Required", with the remark after each name. */
function listNamedInputs(record: SourceRecord): { name: string; description?: string }[] {
  const section = /<input_handling>([\s\S]*?)<\/input_handling>/u.exec(record.text)?.[1] ?? "";
  const lines = section.split("\n").map((line) => line.replace(/^\s*[-*]\s*/u, ""));
  return record.variables.map(({ name }) => {
    const line = lines.find((candidate) => candidate.startsWith(name));
    const remark = remarkOf((line ?? "").slice(name.length));
    return remark === "" ? { name } : { name, description: capitalize(remark) };
  });
}

/**
 * `(sales page, ad): determines the structure` becomes `sales page, ad`: the part after the colon tells the model why it
 * asks, not the caller what to write.
 */
function remarkOf(rest: string): string {
  const plain = rest.replace(/^\(s\)[^(]*/u, "").replace(/:\s*(?:[a-z]+s) [^:]*$/u, "");
  return plain.replace(/^[\s:?(-]+/u, "").replaceAll(/[)\s.]+$/gu, "");
}

function addInput(
  inputs: Map<string, ImportedInput>,
  entry: SelectionEntry,
  found: { name: string; default: string | null; description?: string },
): string {
  const decision = entry.inputs?.[found.name] ?? {};
  const key = (decision.key ?? found.name).normalize("NFC").trim();
  if (inputs.has(key)) return key;
  const value = decision.default === undefined ? found.default : decision.default;
  const description = decision.description ?? found.description;
  inputs.set(key, {
    label: decision.label ?? labelOf(key),
    ...(description === undefined ? {} : { description }),
    ...(decision.options === undefined ? {} : { options: decision.options }),
    ...(value === null || value.trim() === "" ? {} : { default: value.trim() }),
  });
  return key;
}

function addAsk(
  inputs: Map<string, ImportedInput>,
  ask: { readonly key: string; readonly label: string; readonly description?: string },
  example: string | null,
): string {
  const description = ask.description ?? (example === null ? undefined : `For example: ${example}`);
  inputs.set(ask.key, { label: ask.label, ...(description === undefined ? {} : { description }) });
  return placeholder(ask.key);
}

/** `targetAudience` and `target_audience` become `Target audience`; names that are already words stay as they are. */
function labelOf(key: string): string {
  if (key.includes(" ")) return capitalize(key);
  const words = key.replaceAll("_", " ").replaceAll(/([a-z0-9])([A-Z])/gu, "$1 $2");
  return capitalize(
    words === words.toUpperCase()
      ? words.toLowerCase()
      : words.replaceAll(/ [A-Z](?=[a-z])/gu, (hit) => hit.toLowerCase()),
  );
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function cleanTags(tags: readonly string[]): string[] {
  const cleaned = tags
    .map((tag) => tag.toLowerCase().trim())
    .filter((tag) => tag.length > 1 && !WORDS_NOT_TAGS.has(tag));
  return [...new Set(cleaned)].slice(0, 8);
}
