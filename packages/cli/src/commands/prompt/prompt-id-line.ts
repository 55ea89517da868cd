/** A line of the front matter that names the id, which is followed by the end of the file's own fields. */
const HAS_ID = /^id[ \t]*:/m;

/**
 * A prompt file with its id below the line `promptd: 1`.
 * @returns null where it has one already, or is not a file with a front matter.
 */
export function withPromptId(text: string, promptId: string): string | null {
  const front = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*\r?$/m.exec(text)?.[1];
  const line = front === undefined ? null : /^promptd[ \t]*:.*(\r?\n)/m.exec(front);
  if (front === undefined || line === null || HAS_ID.test(front)) return null;
  const at = text.indexOf(front) + line.index + line[0].length;
  return `${text.slice(0, at)}id: ${promptId}${line[1] ?? "\n"}${text.slice(at)}`;
}
