import { describeJsonFault } from "../../http/body/json-fault.ts";
import { FaultList, SOURCE_DEPTH_MAX, type SourceEntry, type SourceNode } from "./source-tree.ts";

/**
 * Reads JSON with lines, key order and duplicate keys. The platform's parser has checked the syntax before, so the
 * reader below only has to find its way.
 * @returns null when the text is not JSON; the fault says where.
 */
export function readJsonSource(text: string, faults: FaultList): SourceNode | null {
  try {
    JSON.parse(text);
  } catch {
    const fault = describeJsonFault(text);
    const position = /position (\d+)/.exec(fault)?.[1];
    const line = position === undefined ? null : text.slice(0, Number(position)).split("\n").length;
    faults.add({ line, field: "file", code: "FILE_SYNTAX", message: `is not valid JSON: ${fault}` });
    return null;
  }
  return new JsonReader(text, faults).readValue(0);
}

const STRING = /"(?:[^"\\]|\\.)*"/sy;
const SCALAR = /[^\s,\]}]+/y;

class JsonReader {
  readonly #text: string;
  readonly #faults: FaultList;
  #at = 0;
  #line = 1;
  /** Names and indexes of what is being read, such as `.prompts`, `[2]`, `.inputs`. */
  readonly #path: string[] = [];

  constructor(text: string, faults: FaultList) {
    this.#text = text;
    this.#faults = faults;
  }

  readValue(depth: number): SourceNode {
    const char = this.#peek();
    const line = this.#line;
    if (char === '"') return { kind: "text", line, value: this.#readString() };
    if (char === "{" || char === "[") {
      if (depth < SOURCE_DEPTH_MAX) return char === "{" ? this.#readMap(depth + 1) : this.#readList(depth + 1);
      const message = `maps and lists are nested more than ${SOURCE_DEPTH_MAX} deep`;
      this.#faults.add({ line, field: this.#field(), code: "LIMITS", message });
      this.#at = this.#text.length;
      return { kind: "nothing", line };
    }
    const source = this.#match(SCALAR);
    if (source === "null" || source === "") return { kind: "nothing", line };
    if (source === "true" || source === "false") return { kind: "boolean", line, value: source === "true" };
    return { kind: "number", line, value: Number(source), source };
  }

  #readMap(depth: number): SourceNode {
    const line = this.#line;
    const entries: SourceEntry[] = [];
    const seen = new Set<string>();
    this.#at += 1;
    while (this.#peek() === '"') {
      const keyLine = this.#line;
      const key = this.#readString();
      this.#peek();
      this.#at += 1; // the colon
      this.#path.push(`.${key}`);
      entries.push({ key, line: keyLine, value: this.readValue(depth) });
      if (seen.has(key)) {
        this.#faults.add({
          line: keyLine,
          field: this.#field(),
          code: "FILE_SYNTAX",
          message: `the key "${key}" stands here twice`,
        });
      }
      seen.add(key);
      this.#path.pop();
      if (this.#peek() === ",") this.#at += 1;
    }
    this.#at += 1;
    return { kind: "map", line, entries };
  }

  #readList(depth: number): SourceNode {
    const line = this.#line;
    const items: SourceNode[] = [];
    this.#at += 1;
    for (let char = this.#peek(); char !== "]" && char !== undefined; char = this.#peek()) {
      if (char === ",") this.#at += 1;
      else {
        this.#path.push(`[${items.length + 1}]`);
        items.push(this.readValue(depth));
        this.#path.pop();
      }
    }
    this.#at += 1;
    return { kind: "list", line, items };
  }

  #field(): string {
    return this.#path.join("").slice(1);
  }

  #readString(): string {
    return JSON.parse(this.#match(STRING)) as string; // a string token cannot hold a raw line break
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  /** The next character that is not white space. */
  #peek(): string | undefined {
    for (; ; this.#at += 1) {
      const char = this.#text[this.#at];
      if (char === "\n") this.#line += 1;
      else if (char !== " " && char !== "\t" && char !== "\r") return char;
    }
  }
}
