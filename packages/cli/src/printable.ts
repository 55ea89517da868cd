/**
 * Makes untrusted text safe for a terminal. It escapes control characters except tab and line feed, because they
 * could move the cursor or change settings. In a JSON document, the escapes are those of JSON itself.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /(?![\n\t])\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Like `printable`, but on one line, for tables. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, " ").trim();
}
