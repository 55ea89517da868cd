/** Locates pieces of a template in the author's file. */
import type { PromptFault } from "../prompt-fault.ts";
import { linesOf } from "./lines-of.ts";
import type { TemplateText } from "./template-text.ts";

export interface Locate {
  /** Converts an offset in the rewritten text to one in the author's text. */
  sourceOffset(offset: number): number;
  /** This and the methods below take offsets in the author's text. */
  line(offset: number): number;
  /** No column if lines of the text are not lines of the file. */
  at(offset: number): Pick<PromptFault, "column"> & { readonly line: number };
  /** The piece at the offset; undefined at the end of the text. Use it only for faults, since it searches the text. */
  excerpt(offset: number): string | undefined;
}

export interface Change {
  readonly offset: number;
  readonly from: string;
  readonly to: string;
}

/** @param changes what was rewritten, in order, with offsets in the author's text. */
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

/** The output or tag at the offset, or else the rest of the line. */
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
