/** The front matter line after which the id line is inserted. */
const HAS_ID = /^id[ \t]*:/m;

/**
 * Inserts a prompt's id below the line `promptd: 1` of its file.
 * @returns null when the file already has an id, or has no front matter.
 */
export function withPromptId(text: string, promptId: string): string | null {
  const front = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*\r?$/m.exec(text)?.[1];
  const line = front === undefined ? null : /^promptd[ \t]*:.*(\r?\n)/m.exec(front);
  if (front === undefined || line === null || HAS_ID.test(front)) return null;
  const at = text.indexOf(front) + line.index + line[0].length;
  return `${text.slice(0, at)}id: ${promptId}${line[1] ?? "\n"}${text.slice(at)}`;
}
/** A prompt's file as stored. */
export interface StoredFile {
  readonly promptId: string;
  /** Null: never published. */
  readonly slug: string | null;
  readonly source: string;
}

/** A file's name and its text with the id, so that changing the title or slug does not create another prompt. */
export function fileOf({ promptId, slug, source }: StoredFile) {
  const ending = /^\s*\{/.test(source) ? ".json" : /^\uFEFF?---/.test(source) ? ".prompt.md" : ".prompt.yaml";
  return { promptId, name: `${slug ?? promptId}${ending}`, text: withPromptId(source, promptId) ?? source };
}
