import { LineCounter } from "yaml";

/** The line of an offset, from 1, without a look at every line before it. A line break belongs to the line it ends. */
export function linesOf(text: string): (offset: number) => number {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  return (offset) => lines.linePos(offset).line;
}
