import { isVisible, suggestName } from "@promptd/contract";
import { codePointLength } from "../text-input-rules.ts";
import type { FaultList } from "../prompt-fault.ts";
import { kindName, type SourceMap, type SourceNode } from "./source-tree.ts";

export interface TextRule {
  /** Code points. */
  readonly max: number;
  /** False: empty text is a fault. */
  readonly mayBeEmpty?: boolean;
  /** False: control characters, including line breaks, are faults. */
  readonly mayHaveLines?: boolean;
}

/**
 * How many members of a long map or list are read. One that is over its own limit is a fault anyway, and reading all of
 * it would be slow, because checks compare the members of a prompt with each other.
 */
export const MEMBERS_READ_MAX = 1_000;
/** Each unknown field is compared with the fields that may be meant. */
const UNKNOWN_NAMED_MAX = 20;

/** Reads the fields of one map, and reports invalid fields and, at the end, unknown ones. */
export class FieldReader {
  readonly source: SourceMap;
  readonly path: string;
  readonly faults: FaultList;
  readonly #entries = new Map<string, SourceNode>();
  readonly #lines = new Map<string, number>();
  readonly #read = new Set<string>();

  constructor(map: SourceMap, path: string, faults: FaultList) {
    this.source = map;
    this.path = path;
    this.faults = faults;
    for (const { key, line, value } of map.entries) {
      if (this.#entries.has(key)) continue;
      this.#entries.set(key, value);
      this.#lines.set(key, line);
    }
  }

  fieldPath(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  lineOf(name: string): number {
    return this.#lines.get(name) ?? this.source.line;
  }

  fault(name: string, message: string): void {
    this.faults.addField(this.lineOf(name), this.fieldPath(name), message);
  }

  /** The value of a field; null when the file does not have it. */
  node(name: string): SourceNode | null {
    this.#read.add(name);
    return this.#entries.get(name) ?? null;
  }

  text(name: string, rule: TextRule): string | null {
    const node = this.node(name);
    return node === null ? null : this.asText(node, name, rule);
  }

  requiredText(name: string, rule: TextRule): string | null {
    if (this.node(name) !== null) return this.text(name, rule);
    this.fault(name, "is required");
    return null;
  }

  integer(name: string, min: number, max: number): number | null {
    const node = this.node(name);
    if (node === null) return null;
    if (node.kind === "number" && Number.isInteger(node.value) && node.value >= min && node.value <= max)
      return node.value;
    this.fault(name, `must be a whole number from ${min} to ${max.toLocaleString("en")}, got ${showNode(node)}`);
    return null;
  }

  number(name: string, min: number, max: number): number | null {
    const node = this.node(name);
    if (node === null) return null;
    if (node.kind === "number" && node.value >= min && node.value <= max) return node.value;
    this.fault(name, `must be a number from ${min} to ${max}, got ${showNode(node)}`);
    return null;
  }

  flag(name: string): boolean {
    const node = this.node(name);
    if (node === null) return false;
    if (node.kind === "boolean") return node.value;
    this.fault(name, `must be true or false, got ${showNode(node)}`);
    return false;
  }

  /** @param example an example for the fault. */
  map(name: string, example?: string): SourceMap | null {
    const node = this.node(name);
    if (node === null || node.kind === "map") return node;
    this.fault(name, `must be a map${example === undefined ? "" : ` such as ${example}`}, got ${kindName(node)}`);
    return null;
  }

  list(name: string): readonly SourceNode[] | null {
    const node = this.node(name);
    if (node === null) return null;
    if (node.kind === "list") return node.items;
    this.fault(name, `must be a list, got ${kindName(node)}`);
    return null;
  }

  /** Creates a reader for each map in a list. @param example describes such a map, for the fault. */
  readers(name: string, max: number, example: string): FieldReader[] | null {
    const items = this.list(name);
    if (items === null) return null;
    if (items.length > max) this.fault(name, `has ${items.length} ${name}; the limit is ${max}`);
    return items.slice(0, MEMBERS_READ_MAX).flatMap((item, index) => {
      const path = this.fieldPath(`${name}[${index + 1}]`);
      if (item.kind === "map") return [new FieldReader(item, path, this.faults)];
      this.faults.addField(item.line, path, `must be a map ${example}, got ${kindName(item)}`);
      return [];
    });
  }

  /** Reads one text or a list of texts. */
  texts(name: string, rule: TextRule): (string | null)[] | null {
    const node = this.node(name);
    if (node === null) return null;
    const items = node.kind === "list" ? node.items : [node];
    return items.map((item) => this.asText(item, name, rule));
  }

  /** Reads a map of texts whose keys the author chooses; empty when the file does not have it. */
  textMap(name: string, rule: TextRule): Record<string, string> {
    const entries = this.map(name)?.entries ?? [];
    return Object.fromEntries(entries.map(({ key, value }) => [key, this.asText(value, `${name}.${key}`, rule) ?? ""]));
  }

  asText(node: SourceNode, name: string, rule: TextRule): string | null {
    if (node.kind !== "text") {
      const hint = node.kind === "number" || node.kind === "boolean" ? ": put it in quotes" : "";
      this.#textFault(node, name, `must be text, got ${showNode(node)}${hint}`);
      return null;
    }
    const problem = textProblem(node.value, rule);
    if (problem === null) return node.value;
    this.#textFault(node, name, problem);
    return null;
  }

  /** Reports every field that was not read. Custom `x-` fields are ignored. */
  finish(): void {
    const known = [...this.#read];
    const free = known.filter((name) => !this.#entries.has(name));
    const unknown = [...this.#entries.keys()].filter((key) => !this.#read.has(key) && !key.startsWith("x-"));
    for (const key of unknown.slice(0, UNKNOWN_NAMED_MAX)) {
      const meant = this.faults.isLong ? null : suggestName(key, free);
      const hint = meant === null ? `Known fields: ${known.join(", ")}.` : `Did you mean "${meant}"?`;
      this.fault(key, `is not a known field here. ${hint} Start custom fields with x-.`);
    }
    const [next, ...others] = unknown.slice(UNKNOWN_NAMED_MAX);
    if (next !== undefined) this.fault(next, `and ${others.length} more are not known fields here.`);
  }

  #textFault(node: SourceNode, name: string, message: string): void {
    this.faults.addField(node.line, this.fieldPath(name), message);
  }
}

export const NOT_TEXT = "contains U+0000 or an unpaired surrogate, which is not valid text";

/** Why a text is not valid here, or null. */
function textProblem(text: string, rule: TextRule): string | null {
  if (text.trim() === "" && rule.mayBeEmpty !== true) return "must not be empty";
  if (rule.mayBeEmpty !== true && !isVisible(text)) return "must contain a visible character";
  if (text.includes("\0") || !text.isWellFormed()) return NOT_TEXT;
  if (rule.mayHaveLines !== true && /\p{Cc}/u.test(text)) return "must not contain line breaks or control characters";
  const length = codePointLength(text);
  return length > rule.max
    ? `is ${length.toLocaleString("en")} characters long; the limit is ${rule.max.toLocaleString("en")}`
    : null;
}

function showNode(node: SourceNode): string {
  if (node.kind === "number") return `the number ${node.source}`;
  if (node.kind === "boolean") return String(node.value);
  if (node.kind === "text") return JSON.stringify(node.value.length > 40 ? `${node.value.slice(0, 40)}…` : node.value);
  return kindName(node);
}
