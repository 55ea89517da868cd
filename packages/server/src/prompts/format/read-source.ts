/** Reads YAML and JSON into the same kind of tree, with the line of every value. */
import { createScanner, type JSONScanner } from "jsonc-parser";
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type ErrorCode,
  type Scalar,
  type YAMLParseError,
} from "yaml";
import { describeJsonFault } from "../../http/body/json-fault.ts";
import { memberOf } from "../../platform/json.ts";
import type { SlicedWork } from "../../platform/time-slice.ts";
import { withoutStacks } from "../../platform/without-stacks.ts";
import type { FaultList } from "../prompt-fault.ts";
import { linesOf } from "../template/lines-of.ts";
import type { SourceEntry, SourceNode } from "./source-tree.ts";

/** Levels of maps and lists; prompt files need seven. */
const DEPTH_MAX = 20;

/**
 * Keys, values, punctuation marks, the spaces and line breaks between them, and invalid escape sequences. The longest front matter (64 KiB) has
 * 21,000 if it is as dense as the densest seed prompt. A mistake in each took 4 microseconds (2026-11-28).
 */
const YAML_PARTS_MAX = 30_000;

const YAML_OPTIONS = {
  version: "1.2",
  schema: "core",
  merge: false,
  uniqueKeys: false, // found by checkTree, for both formats
  prettyErrors: false,
} as const;

/** Line of the file at an offset of the text. */
type LineAt = (offset: number) => number;

/** @returns null when the text is not JSON; the fault says where. */
export function* readJsonSource(text: string, faults: FaultList): SlicedWork<SourceNode | null> {
  const lineAt: LineAt = linesOf(text);
  try {
    JSON.parse(text); // the scanner below accepts more than JSON
  } catch {
    const fault = describeJsonFault(text);
    const position = /position (\d+)/.exec(fault)?.[1];
    const line = position === undefined ? null : lineAt(Number(position));
    faults.add({ line, field: "file", code: "FILE_SYNTAX", message: `is not valid JSON: ${fault}` });
    return null;
  }
  yield;
  const scanner = createScanner(text, true);
  scanner.scan();
  const tokens = { scanner, lineAt, first: () => text.charAt(scanner.getTokenOffset()) };
  return yield* checkedTree(yield* readJsonValue(tokens, 0), faults);
}

interface JsonTokens {
  readonly scanner: JSONScanner;
  /** The first character of the token: it tells valid tokens apart. */
  readonly first: () => string;
  readonly lineAt: LineAt;
}

/** Reads the value that starts with the current token, and moves on to the token after it. The text is valid JSON. */
function* readJsonValue(tokens: JsonTokens, depth: number): SlicedWork<SourceNode> {
  const { scanner, first, lineAt } = tokens;
  const opening = first();
  const line = lineAt(scanner.getTokenOffset());
  if (opening !== "{" && opening !== "[") {
    const node = convertScalar(scalarOf(opening, scanner.getTokenValue()), line, scanner.getTokenValue());
    scanner.scan();
    return node;
  }
  if (depth > DEPTH_MAX) {
    yield* skipJsonValue(tokens);
    return { kind: "nothing", line }; // never read: what contains it is a fault
  }
  const items: SourceNode[] = [];
  const entries: SourceEntry[] = [];
  scanner.scan();
  while (!CLOSING.has(first())) {
    if (first() === ",") scanner.scan();
    if (opening === "[") items.push(yield* readJsonValue(tokens, depth + 1));
    else {
      const [key, keyLine] = [scanner.getTokenValue(), lineAt(scanner.getTokenOffset())];
      scanner.scan(); // the colon
      scanner.scan();
      entries.push({ key, line: keyLine, value: yield* readJsonValue(tokens, depth + 1) });
    }
    yield;
  }
  scanner.scan();
  return opening === "[" ? { kind: "list", line, items } : { kind: "map", line, entries };
}

const CLOSING: ReadonlySet<string> = new Set("]}");

function* skipJsonValue({ scanner, first }: JsonTokens): SlicedWork<void> {
  let open = 0;
  do {
    if (first() === "{" || first() === "[") open += 1;
    if (CLOSING.has(first())) open -= 1;
    scanner.scan();
    yield;
  } while (open > 0);
}

function scalarOf(first: string, value: string): unknown {
  if (first === '"') return value;
  if (first === "n") return null;
  return first === "t" || first === "f" ? first === "t" : Number(value);
}

/**
 * Reads YAML 1.2 (core schema) without aliases, merge keys, or tags: what an author sees is what is published.
 * @param firstLine line of the file where `text` starts.
 * @returns null when the text is not YAML; the faults say where.
 */
export function* readYamlSource(text: string, firstLine: number, faults: FaultList): SlicedWork<SourceNode | null> {
  if (yield* hasManyParts(text)) {
    const message = `has more than ${YAML_PARTS_MAX.toLocaleString("en")} keys, values, punctuation marks, invalid escape sequences, and spaces and line breaks outside texts`;
    faults.add({ line: null, field: FRONT_MATTER, code: "LIMITS", message });
    return null;
  }
  const lines = new LineCounter();
  const lineAt: LineAt = (offset) => lines.linePos(offset).line + firstLine - 1;
  const columnAt = (offset: number) => lines.linePos(offset).col;
  const fault = (offset: number, message: string) =>
    faults.add({ line: lineAt(offset), field: FRONT_MATTER, code: "FILE_SYNTAX", message });
  yield;
  const root = readDeep(FRONT_MATTER, faults, () => {
    const document = withoutStacks(() => parseDocument(text, { ...YAML_OPTIONS, lineCounter: lines }));
    const exhausted = document.errors.find(({ code }) => code === "RESOURCE_EXHAUSTION");
    if (exhausted !== undefined) throw new RangeError(exhausted.message);
    for (const { code, message, pos } of firstOfEachLine(document.errors, lineAt))
      fault(pos[0], describeColon(code, text, pos[0]) ?? PLAIN_WORDS[code] ?? message);
    return document.errors.length > 0 ? null : convertYaml(document.contents, null, { text, lineAt, columnAt, fault });
  });
  yield;
  return root === null ? null : yield* checkedTree(root, faults);
}

function* hasManyParts(text: string): SlicedWork<boolean> {
  let count = 0;
  for (const part of new Lexer().lex(text)) {
    count += 1;
    if (part.startsWith('"')) count += part.match(NOT_AN_ESCAPE)?.length ?? 0;
    if (count > YAML_PARTS_MAX) return true;
    yield;
  }
  return false;
}

/** In a text in double quotes. The parser reports each of them. */
const NOT_AN_ESCAPE = /\\[^0abefnrtvNLPxuU "/\\\t\r\n]/g;

const FRONT_MATTER = "front matter";

const NO_VALUE_ALLOWED =
  "the next line is indented as part of this text, but contains a colon: start a separate field in the same column as this one, or put text that contains a colon in quotes";
/** Plain replacements for parser messages that use terms of the YAML specification. */
const PLAIN_WORDS: Partial<Readonly<Record<ErrorCode, string>>> = {
  BAD_INDENT:
    "this line's indentation does not match the lines it belongs to: all fields of a map must start in the same column",
  BLOCK_AS_IMPLICIT_KEY: NO_VALUE_ALLOWED,
  MULTILINE_IMPLICIT_KEY: NO_VALUE_ALLOWED,
  TAB_AS_INDENT: "lines cannot be indented with tabs: use spaces",
};

/** How much of a text is quoted in the suggested spelling. */
const EXAMPLE_LENGTH_MAX = 60;

/** Null: the fault is not a single-line text whose colon makes YAML read it as a field. */
function describeColon(code: ErrorCode, text: string, offset: number): string | null {
  const isInFlow = code === "BLOCK_IN_FLOW";
  if (!isInFlow && code !== "BLOCK_AS_IMPLICIT_KEY") return null;
  const [line = ""] = (isInFlow ? /^[^,\]}\n]*/ : /^.*?(?= #|$)/m).exec(text.slice(offset)) ?? [];
  const value = line.trim();
  if (!/:(?:\s|$)/.test(value)) return null;
  const before = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  const [key = ""] = /(?<![\w.-])[\w.-]+: +$/.exec(before) ?? [];
  const shown = value.length > EXAMPLE_LENGTH_MAX ? `${value.slice(0, EXAMPLE_LENGTH_MAX)}…` : value;
  const quoted = /["\\]/.test(shown) ? `'${shown.replaceAll("'", "''")}'` : `"${shown}"`;
  return `text that contains a colon must be in quotes: ${key}${quoted}`;
}

/** One mistake causes several parser errors. Only the first on a line is helpful. */
function firstOfEachLine(errors: readonly YAMLParseError[], lineAt: LineAt): YAMLParseError[] {
  const seen = new Set<number>();
  return errors.filter(({ pos }) => !seen.has(lineAt(pos[0])) && seen.add(lineAt(pos[0])));
}

interface YamlContext {
  readonly text: string;
  readonly lineAt: LineAt;
  /** From 1. */
  readonly columnAt: (offset: number) => number;
  readonly fault: (offset: number, message: string) => void;
}

/**
 * Gives a map or list the line of its key, since its first member may be on a later line.
 * @param keyOffset where the key of this value starts; null for the root and the items of a list.
 */
function convertYaml(node: unknown, keyOffset: number | null, context: YamlContext): SourceNode {
  const { lineAt, fault } = context;
  const offset = rangeStart(node) ?? keyOffset ?? 0;
  if (isAlias(node)) fault(offset, "aliases (*name) are not supported in prompt files: repeat the value instead");
  else if (isMap(node) || isSeq(node) || isScalar(node)) {
    if (node.tag !== undefined) fault(offset, `tags such as ${node.tag} are not supported in prompt files`);
    const line = lineAt(isScalar(node) ? offset : (keyOffset ?? offset));
    if (isMap(node)) return { kind: "map", line, entries: node.items.map((pair) => convertPair(pair, context)) };
    if (isSeq(node)) return { kind: "list", line, items: node.items.map((item) => convertYaml(item, null, context)) };
    const scalar = convertScalar(node.value, line, node.source ?? "");
    const location = scalar.kind === "text" ? locateText(node, offset, context) : null;
    return scalar.kind === "text" && location !== null ? { ...scalar, location } : scalar;
  }
  return { kind: "nothing", line: lineAt(offset) };
}

/** Locates a `|` block or a plain text on one line; null for other texts, whose lines are not lines of the file. */
function locateText(node: Scalar, offset: number, { text, lineAt, columnAt }: YamlContext) {
  const line = lineAt(offset);
  if (node.type === "BLOCK_LITERAL") {
    const [, indent = ""] = /^.*\n(?:[ \t]*\n)*([ ]*)/.exec(text.slice(offset)) ?? [];
    return { line: line + 1, indent: indent.length };
  }
  const isOneLine = node.type === "PLAIN" && node.source === node.value;
  return isOneLine ? { line, indent: columnAt(offset) - 1 } : null;
}

function convertPair(pair: { key: unknown; value: unknown }, context: YamlContext): SourceEntry {
  const offset = rangeStart(pair.key) ?? 0;
  const scalar: Scalar | null = isScalar(pair.key) ? pair.key : null;
  if (typeof scalar?.value !== "string") context.fault(offset, "a key must be text: put it in quotes");
  const key = typeof scalar?.value === "string" ? scalar.value : (scalar?.source ?? "?");
  return { key, line: context.lineAt(offset), value: convertYaml(pair.value, offset, context) };
}

/** Null for an absent value. */
function rangeStart(node: unknown): number | null {
  const range = memberOf(node, "range");
  return Array.isArray(range) ? Number(range[0]) : null;
}

/** @param source the value as written in the file. */
function convertScalar(value: unknown, line: number, source: string): SourceNode {
  if (typeof value === "string") return { kind: "text", line, value };
  if (typeof value === "number") return { kind: "number", line, value, source };
  if (typeof value === "boolean") return { kind: "boolean", line, value };
  return { kind: "nothing", line };
}

/** The YAML parser recurses, so thousands of brackets exhaust the stack. */
function readDeep(field: string, faults: FaultList, read: () => SourceNode | null): SourceNode | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    faults.add({ line: null, field, code: "LIMITS", message: "maps and lists are nested too deep" });
    return null;
  }
}

/** Returns nothing that is nested too deep, since later code may recurse. */
function* checkedTree(root: SourceNode, faults: FaultList): SlicedWork<SourceNode | null> {
  const before = faults.faults.length;
  yield* checkTree(root, [], faults);
  return faults.faults.slice(before).some(({ code }) => code === "LIMITS") ? null : root;
}

/** @param path names and indexes down to this node, such as `.prompts`, `[2]`, `.inputs`. */
function* checkTree(node: SourceNode, path: readonly string[], faults: FaultList): SlicedWork<void> {
  if (node.kind !== "map" && node.kind !== "list") return;
  yield;
  const fault = (line: number, at: readonly string[], code: "LIMITS" | "FILE_SYNTAX", message: string) =>
    faults.add({ line, field: at.join("").slice(1), code, message });
  if (path.length >= DEPTH_MAX) {
    fault(node.line, path, "LIMITS", `maps and lists are nested more than ${DEPTH_MAX} deep`);
    return;
  }
  if (node.kind === "list") {
    for (const [index, item] of node.items.entries()) yield* checkTree(item, [...path, `[${index + 1}]`], faults);
    return;
  }
  const seen = new Set<string>();
  for (const { key, line, value } of node.entries) {
    const at = [...path, `.${key}`];
    if (seen.has(key) && !faults.isFull) fault(line, at, "FILE_SYNTAX", `the key "${key}" is used twice here`);
    seen.add(key);
    yield* checkTree(value, at, faults);
  }
}
