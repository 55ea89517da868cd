/**
 * Makes untrusted text safe for a terminal. It escapes control characters except tab and line feed, because they
 * could move the cursor or change settings. In a JSON document, the escapes are those of JSON itself.
 */
export function printable(text: string): string {
  return escape(text, /(?![\n\t])\p{Cc}/gu);
}

/**
 * Like `printable`, but on one line, for tables. It also escapes characters that could reorder the rest of the line:
 * bidirectional embeddings, overrides, and isolates.
 */
export function printableLine(text: string): string {
  return escape(printable(text), /[\u202a-\u202e\u2066-\u2069]/g)
    .replaceAll(/\s+/g, " ")
    .trim();
}

function escape(text: string, characters: RegExp): string {
  return text.replaceAll(characters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
