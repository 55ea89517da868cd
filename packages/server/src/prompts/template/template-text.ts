/** Liquid text and its line in the file. */
export interface TemplateText {
  readonly text: string;
  readonly line: number;
  /**
   * Characters before each line, if lines of the text are lines of the file (a body or a `|` block); otherwise null.
   */
  readonly indent: number | null;
}

/** Converts line ends to LF, and removes the white space around the text that comes from the file format. */
export function cleanTemplate(text: string): string {
  return text
    .replaceAll(/\r\n?/g, "\n")
    .replace(/^(?:[ \t]*\n)+/, "")
    .trimEnd();
}

/** Lines that `cleanTemplate` removes before the text. */
export function blankLinesBefore(text: string): number {
  const blank = text.trim() === "" ? "" : (/^(?:[ \t]*\r?\n)+/.exec(text)?.[0] ?? "");
  return blank.split("\n").length - 1;
}
