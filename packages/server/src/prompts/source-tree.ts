import type { PromptFault } from "./prompt-fault.ts";

/**
 * What a YAML front matter and a JSON import have in common: values with their lines, map entries in file order
 * (JavaScript objects would move integer-like keys first).
 */
export type SourceNode =
  | { readonly kind: "map"; readonly line: number; readonly entries: readonly SourceEntry[] }
  | { readonly kind: "list"; readonly line: number; readonly items: readonly SourceNode[] }
  | { readonly kind: "text"; readonly line: number; readonly value: string }
  | { readonly kind: "number"; readonly line: number; readonly value: number; readonly source: string }
  | { readonly kind: "boolean"; readonly line: number; readonly value: boolean }
  | { readonly kind: "nothing"; readonly line: number };

export interface SourceEntry {
  readonly key: string;
  readonly line: number;
  readonly value: SourceNode;
}

export type SourceMap = Extract<SourceNode, { kind: "map" }>;

/** Levels of maps and lists; prompt files need seven. */
export const SOURCE_DEPTH_MAX = 20;

/** Collects the faults of one prompt; `field` paths are relative to it. */
export class FaultList {
  readonly faults: PromptFault[] = [];
  readonly #prefix: string;

  /** `prefix`: names the prompt in a file of several, such as `prompts[3].`. */
  constructor(prefix = "") {
    this.#prefix = prefix;
  }

  add(fault: PromptFault): void {
    this.faults.push({ ...fault, field: this.#prefix + fault.field });
  }

  addField(line: number | null, field: string, message: string): void {
    this.add({ line, field, code: "FIELD", message });
  }
}

const NAMES: Readonly<Record<SourceNode["kind"], string>> = {
  map: "a map",
  list: "a list",
  text: "text",
  number: "a number",
  boolean: "true or false",
  nothing: "nothing",
};

export function kindName(node: SourceNode): string {
  return NAMES[node.kind];
}
