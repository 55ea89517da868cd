import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Scalar } from "yaml";
import { FaultList, SOURCE_DEPTH_MAX, type SourceEntry, type SourceNode } from "./source-tree.ts";

interface Place {
  readonly faults: FaultList;
  /** Line of a position in the whole file. */
  readonly lineAt: (offset: number) => number;
}

/** Where a node stands in the tree. */
interface NodePlace extends Place {
  readonly depth: number;
  /** Where the key of this value begins; null for the root and the items of a list. */
  readonly keyOffset: number | null;
}

/**
 * Reads YAML 1.2 (core schema) without aliases, merge keys and tags: what an author sees is what is published.
 * @param firstLine line of the file where `text` begins.
 * @returns null when there is no tree to look at.
 */
export function readYamlSource(text: string, firstLine: number, faults: FaultList): SourceNode | null {
  const lines = new LineCounter();
  const place: Place = { faults, lineAt: (offset) => lines.linePos(offset).line + firstLine - 1 };
  let document: Document.Parsed;
  try {
    document = parseDocument(text, {
      version: "1.2",
      schema: "core",
      merge: false,
      uniqueKeys: true,
      prettyErrors: false,
      lineCounter: lines,
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // the parser recurses: a bomb of brackets ends its stack
    addSyntax(place, 0, "maps and lists are nested too deep");
    return null;
  }
  for (const error of document.errors) addSyntax(place, error.pos[0], error.message);
  const isReadable = document.errors.every((error) => error.code === "DUPLICATE_KEY");
  return isReadable ? convert(document.contents, { ...place, depth: 0, keyOffset: null }) : null;
}

/** A map or list stands where its key does: its first member may be a line further down. */
function convert(node: unknown, place: NodePlace): SourceNode {
  const { depth, keyOffset } = place;
  const offset = rangeStart(node) ?? keyOffset ?? 0;
  const line = place.lineAt(isMap(node) || isSeq(node) ? (keyOffset ?? offset) : offset);
  if (depth > SOURCE_DEPTH_MAX) {
    addSyntax(place, offset, `maps and lists are nested more than ${SOURCE_DEPTH_MAX} deep`);
  } else if (isAlias(node)) {
    addSyntax(place, offset, "aliases (*name) are not part of prompt files: write the value again");
  } else if (isMap(node)) {
    checkTag(node.tag, offset, place);
    return { kind: "map", line, entries: node.items.map((pair) => convertPair(pair, place)) };
  } else if (isSeq(node)) {
    checkTag(node.tag, offset, place);
    const items = node.items.map((item) => convert(item, { ...place, depth: depth + 1, keyOffset: null }));
    return { kind: "list", line, items };
  } else if (isScalar(node)) {
    checkTag(node.tag, offset, place);
    return convertScalar(node, line);
  }
  return { kind: "nothing", line };
}

function convertPair(pair: { key: unknown; value: unknown }, place: NodePlace): SourceEntry {
  const offset = rangeStart(pair.key) ?? 0;
  const key = isScalar(pair.key) ? pair.key.value : undefined;
  if (typeof key !== "string") addSyntax(place, offset, "a key must be text: put it in quotes");
  const written = isScalar(pair.key) ? (pair.key.source ?? "") : "?";
  const name = typeof key === "string" ? key : written;
  return {
    key: name,
    line: place.lineAt(offset),
    value: convert(pair.value, { ...place, depth: place.depth + 1, keyOffset: offset }),
  };
}

function convertScalar(node: Scalar, line: number): SourceNode {
  const { value } = node;
  if (typeof value === "string")
    return { kind: "text", line, value, ...(node.type === "BLOCK_LITERAL" && { textLine: line + 1 }) };
  if (typeof value === "number") return { kind: "number", line, value, source: node.source ?? "" };
  if (typeof value === "boolean") return { kind: "boolean", line, value };
  return { kind: "nothing", line };
}

function checkTag(tag: string | undefined, offset: number, place: Place): void {
  if (tag !== undefined) addSyntax(place, offset, `tags such as ${tag} are not part of prompt files`);
}

/** Null for a value that is not written at all. */
function rangeStart(node: unknown): number | null {
  const hasRange = node !== null && typeof node === "object" && "range" in node && Array.isArray(node.range);
  return hasRange ? Number((node as { range: unknown[] }).range[0]) : null;
}

function addSyntax(place: Place, offset: number, message: string): void {
  place.faults.add({ line: place.lineAt(offset), field: "front matter", code: "FILE_SYNTAX", message });
}
