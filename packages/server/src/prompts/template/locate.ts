/** Where a piece of a template stands in the file of its author. */
import type { PromptFault } from "../prompt-fault.ts";
import { linesOf } from "./lines-of.ts";
import type { TemplateText } from "./template-text.ts";

export interface Locate {
  /** From an offset of the rewritten text to one of the text as its author wrote it. */
  sourceOffset(offset: number): number;
  /** The ones below take offsets of the text as its author wrote it. */
  line(offset: number): number;
  /** Without a column where lines of the text are not lines of the file. */
  at(offset: number): Pick<PromptFault, "column"> & { readonly line: number };
  /** The piece that stands there; undefined where the text ends. It is searched for, so of faults only. */
  excerpt(offset: number): string | undefined;
}

export interface Change {
  readonly offset: number;
  readonly from: string;
  readonly to: string;
}

/** @param changes what was rewritten, in order, with offsets of the text as its author wrote it. */
export function locator(source: TemplateText, changes: readonly Change[]): Locate {
  const lineIn = linesOf(source.text);
  const line = (offset: number) => (source.indent === null ? source.line : source.line + lineIn(offset) - 1);
  return {
    sourceOffset: (offset) => {
      let moved = 0;
      for (const change of changes) {
        const begin = change.offset + moved;
        if (offset < begin) break;
        if (offset < begin + change.to.length) return change.offset;
        moved += change.to.length - change.from.length;
      }
      return offset - moved;
    },
    line,
    at: (offset) => ({
      line: line(offset),
      ...(source.indent === null ? {} : { column: source.indent + offset - source.text.lastIndexOf("\n", offset - 1) }),
    }),
    excerpt: (offset) => excerptAt(source.text, offset),
  };
}

const EXCERPT_LENGTH_MAX = 60;

/** The output or tag that the offset lies in, else the rest of its line. */
function excerptAt(text: string, offset: number): string | undefined {
  const before = text.slice(0, offset + 2);
  const open = Math.max(before.lastIndexOf("{{"), before.lastIndexOf("{%"));
  const end = open === -1 ? -1 : text.slice(open).search(/[%}]\}/);
  const isInside = end !== -1 && open + end + 2 > offset;
  const piece = isInside ? text.slice(open, open + end + 2) : text.slice(offset);
  const [first = ""] = piece.trimStart().split("\n");
  if (first === "") return undefined;
  return shortened(first);
}

export function shortened(text: string): string {
  return text.length > EXCERPT_LENGTH_MAX ? `${text.slice(0, EXCERPT_LENGTH_MAX)}…` : text;
}
