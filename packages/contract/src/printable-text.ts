const QUOTED_CODE_POINTS_MAX = 40;
/**
 * C0 and C1 controls, DEL, and lone surrogates: clients print messages to terminals, which would interpret them.
 * Bidirectional controls would reorder the message's words around the quotation.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu;

/** A caller's text for use in a message: at most 40 code points, with unprintable ones written as `\u001b`. */
export function printable(text: string, codePointsMax = QUOTED_CODE_POINTS_MAX): string {
  const head = text.slice(0, 2 * codePointsMax + 2);
  const points = Array.from(head);
  const isCut = points.length > codePointsMax || head.length < text.length;
  const shown = points.slice(0, codePointsMax).join("");
  const escaped = shown.replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return isCut ? `${escaped}…` : escaped;
}

/** A caller's value in quotation marks, safe to use in a message. */
export function quoteText(text: string): string {
  return `"${printable(text)}"`;
}

/** The type of a JSON value, with its article: "a number", "an array", "null". */
export function describeType(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Controls, line separators, and bidirectional controls. Names must not contain them. */
const STEERING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** The first character that a name must not contain, as `U+202E`; null: there is none. */
export function steeringCharacter(text: string): string | null {
  const found = STEERING.exec(text)?.[0];
  return found === undefined ? null : `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** A character that shows on screen: not a space, a control, or an invisible formatting character. */
const VISIBLE = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Whether a text contains a visible character. A name without one is useless. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}
