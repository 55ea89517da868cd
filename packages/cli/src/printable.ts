/**
 * Text of a stranger made safe for a terminal: control characters but tab and line feed, which could move the cursor
 * or change its settings, are written out. In a JSON document that is what JSON itself writes for them.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /(?![\n\t])\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same on one line, for tables. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, " ").trim();
}
