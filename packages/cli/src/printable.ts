/**
 * Text of a stranger made safe for a terminal: control characters but tab and line feed, which could move the cursor
 * or change its settings, are written out. The JSON output leaves the text as it is.
 */
export function printable(text: string): string {
  return Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const isControl = (code < 0x20 && character !== "\n" && character !== "\t") || (code >= 0x7f && code <= 0x9f);
    return isControl ? `\\u${code.toString(16).padStart(4, "0")}` : character;
  }).join("");
}

/** The same on one line, for tables. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, " ").trim();
}
