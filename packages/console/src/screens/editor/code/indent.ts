/**
 * The indentation of a new line in a prompt file: below `inputs:` for its content, below `- label: Photo` for the next
 * field of the same item.
 * @param before the text before the cursor.
 * @returns null outside the head, where a colon is just punctuation.
 */
export function indentAfter(before: string): number | null {
  if (before.match(/^---[ \t]*$/gm)?.length !== 1) return null;
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const indent = line.length - line.trimStart().length;
  return /:\s*$/.test(line) || /^\s*- \w+:/.test(line) ? indent + 2 : indent;
}
