import { LineCounter } from "yaml";

/**
 * Finds the line of an offset, from 1, without scanning the lines before it. A line break belongs to the line it ends.
 */
export function linesOf(text: string): (offset: number) => number {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  return (offset) => lines.linePos(offset).line;
}
