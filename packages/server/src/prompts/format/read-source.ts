/** Reads YAML and JSON into the same kind of tree, with the line of every value. */
import { parseTree, type Node as JsonNode } from "jsonc-parser";
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
import { withoutStacks } from "../../platform/without-stacks.ts";
import type { FaultList } from "../prompt-fault.ts";
import { linesOf } from "../template/lines-of.ts";
import type { SourceEntry, SourceNode } from "./source-tree.ts";

/** Levels of maps and lists; prompt files need seven. */
const DEPTH_MAX = 20;

/**
 * Keys, values, punctuation marks, and the spaces and line breaks between them. The longest front matter (64 KiB) has
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
export function readJsonSource(text: string, faults: FaultList): SourceNode | null {
  const lineAt: LineAt = linesOf(text);
  try {
    JSON.parse(text); // the parser below accepts more than JSON, and its errors say less
  } catch {
    const fault = describeJsonFault(text);
    const position = /position (\d+)/.exec(fault)?.[1];
    const line = position === undefined ? null : lineAt(Number(position));
    faults.add({ line, field: "file", code: "FILE_SYNTAX", message: `is not valid JSON: ${fault}` });
    return null;
  }
  return readTree("file", faults, () => {
    const root = parseTree(text);
    return root === undefined ? null : convertJson(root, text, lineAt);
  });
}

function convertJson(node: JsonNode, text: string, lineAt: LineAt): SourceNode {
  const line = lineAt(node.offset);
  const children = node.children ?? [];
  if (node.type === "array")
    return { kind: "list", line, items: children.map((child) => convertJson(child, text, lineAt)) };
  if (node.type === "object") {
    const entries = children.flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined
        ? []
        : [{ key: String(key.value), line: lineAt(key.offset), value: convertJson(value, text, lineAt) }],
    );
    return { kind: "map", line, entries };
  }
  return convertScalar(node.value, line, text.slice(node.offset, node.offset + node.length));
}

/**
 * Reads YAML 1.2 (core schema) without aliases, merge keys, or tags: what an author sees is what is published.
 * @param firstLine line of the file where `text` starts.
 * @returns null when the text is not YAML; the faults say where.
 */
export function readYamlSource(text: string, firstLine: number, faults: FaultList): SourceNode | null {
  if (hasManyParts(text)) {
    const message = `has more than ${YAML_PARTS_MAX.toLocaleString("en")} keys, values, punctuation marks, spaces, and line breaks outside texts`;
    faults.add({ line: null, field: FRONT_MATTER, code: "LIMITS", message });
    return null;
  }
  const lines = new LineCounter();
  const lineAt: LineAt = (offset) => lines.linePos(offset).line + firstLine - 1;
  const columnAt = (offset: number) => lines.linePos(offset).col;
  const fault = (offset: number, message: string) =>
    faults.add({ line: lineAt(offset), field: FRONT_MATTER, code: "FILE_SYNTAX", message });
  return readTree(FRONT_MATTER, faults, () => {
    const document = withoutStacks(() => parseDocument(text, { ...YAML_OPTIONS, lineCounter: lines }));
    const exhausted = document.errors.find(({ code }) => code === "RESOURCE_EXHAUSTION");
    if (exhausted !== undefined) throw new RangeError(exhausted.message);
    for (const { code, message, pos } of firstOfEachLine(document.errors, lineAt))
      fault(pos[0], describeColon(code, text, pos[0]) ?? PLAIN_WORDS[code] ?? message);
    return document.errors.length > 0 ? null : convertYaml(document.contents, null, { text, lineAt, columnAt, fault });
  });
}

function hasManyParts(text: string): boolean {
  const parts = new Lexer().lex(text);
  for (let count = 0; count <= YAML_PARTS_MAX; count += 1) if (parts.next().done === true) return false;
  return true;
}

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

function readTree(field: string, faults: FaultList, read: () => SourceNode | null): SourceNode | null {
  try {
    const root = read();
    const before = faults.faults.length;
    if (root !== null) checkTree(root, [], faults);
    // Return nothing that is nested too deep, since later code may recurse.
    return faults.faults.slice(before).some(({ code }) => code === "LIMITS") ? null : root;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // the parsers recurse, so thousands of brackets exhaust the stack
    faults.add({ line: null, field, code: "LIMITS", message: "maps and lists are nested too deep" });
    return null;
  }
}

/** @param path names and indexes down to this node, such as `.prompts`, `[2]`, `.inputs`. */
function checkTree(node: SourceNode, path: readonly string[], faults: FaultList): void {
  if (node.kind !== "map" && node.kind !== "list") return;
  const fault = (line: number, at: readonly string[], code: "LIMITS" | "FILE_SYNTAX", message: string) =>
    faults.add({ line, field: at.join("").slice(1), code, message });
  if (path.length >= DEPTH_MAX)
    return fault(node.line, path, "LIMITS", `maps and lists are nested more than ${DEPTH_MAX} deep`);
  if (node.kind === "list") {
    for (const [index, item] of node.items.entries()) checkTree(item, [...path, `[${index + 1}]`], faults);
    return;
  }
  const seen = new Set<string>();
  for (const { key, line, value } of node.entries) {
    const at = [...path, `.${key}`];
    if (seen.has(key)) fault(line, at, "FILE_SYNTAX", `the key "${key}" is used twice here`);
    seen.add(key);
    checkTree(value, at, faults);
  }
}
