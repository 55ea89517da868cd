/**
 * How far a new line of a prompt file is indented: below `inputs:` stands what belongs to it, below `- label: Photo` the
 * next field of the same item.
 * @param before the text before the cursor.
 * @returns null outside of the head, where a colon ends a sentence.
 */
export function indentAfter(before: string): number | null {
  if (before.match(/^---[ \t]*$/gm)?.length !== 1) return null;
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const indent = line.length - line.trimStart().length;
  return /:\s*$/.test(line) || /^\s*- \w+:/.test(line) ? indent + 2 : indent;
}
