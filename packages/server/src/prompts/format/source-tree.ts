/**
 * The common form of YAML front matter and a JSON import: values with their lines, and map entries in file order
 * (JavaScript objects would move integer-like keys first).
 */
export type SourceNode =
  | { readonly kind: "map"; readonly line: number; readonly entries: readonly SourceEntry[] }
  | { readonly kind: "list"; readonly line: number; readonly items: readonly SourceNode[] }
  | {
      readonly kind: "text";
      readonly line: number;
      readonly value: string;
      /** Location of the text's first line, if its lines are lines of the file; `indent`: characters before each. */
      readonly location?: { readonly line: number; readonly indent: number };
    }
  | { readonly kind: "number"; readonly line: number; readonly value: number; readonly source: string }
  | { readonly kind: "boolean"; readonly line: number; readonly value: boolean }
  | { readonly kind: "nothing"; readonly line: number };

export interface SourceEntry {
  readonly key: string;
  readonly line: number;
  readonly value: SourceNode;
}

export type SourceMap = Extract<SourceNode, { kind: "map" }>;

/** Finds the line of a member by its path, as far as the path exists; null when not even the first name exists. */
export type LineOf = (...path: readonly (string | number)[]) => number | null;

export function lineFinder(map: SourceMap): LineOf {
  return (...path) => {
    let node: SourceNode = map;
    let line: number | null = null;
    for (const name of path) {
      const member = memberOf(node, name);
      if (member === undefined) break;
      ({ line, value: node } = member);
    }
    return line;
  };
}

function memberOf(node: SourceNode, name: string | number): { line: number; value: SourceNode } | undefined {
  if (node.kind === "map") return node.entries.find((entry) => entry.key === name);
  const item = node.kind === "list" && typeof name === "number" ? node.items[name] : undefined;
  return item === undefined ? undefined : { line: item.line, value: item };
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
