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
/** A prompt's file as it is stored. */
export interface StoredFile {
  readonly promptId: string;
  /** Null: it was never published. */
  readonly slug: string | null;
  readonly source: string;
}

/** Its name and text in a folder: with its id, so that title and slug may change without making another prompt. */
export function fileOf({ promptId, slug, source }: StoredFile) {
  const ending = /^\s*\{/.test(source) ? ".json" : /^\uFEFF?---/.test(source) ? ".prompt.md" : ".prompt.yaml";
  return { promptId, name: `${slug ?? promptId}${ending}`, text: withPromptId(source, promptId) ?? source };
}
