const QUOTED_CODE_POINTS_MAX = 40;
/**
 * C0 and C1 controls, DEL and lone surrogates: clients print messages to terminals, which would obey them. Controls of the
 * writing direction would reorder the words of the message around the quotation.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu;

/** A caller's own text as it may stand in a message: at most 40 code points, unprintable ones written as `\u001b`. */
export function printable(text: string, codePointsMax = QUOTED_CODE_POINTS_MAX): string {
  const head = text.slice(0, 2 * codePointsMax + 2);
  const points = Array.from(head);
  const isCut = points.length > codePointsMax || head.length < text.length;
  const shown = points.slice(0, codePointsMax).join("");
  const escaped = shown.replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return isCut ? `${escaped}…` : escaped;
}

/** A caller's own value between quotation marks, fit for a message. */
export function quoteText(text: string): string {
  return `"${printable(text)}"`;
}

/** What a JSON value is, with its article: "a number", "an array", "null". */
export function describeType(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Controls, ends of lines, and what turns the direction of the words beside it: no name has any of them. */
const STEERING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** The first character that no name may have, as `U+202E`; null: there is none. */
export function steeringCharacter(text: string): string | null {
  const found = STEERING.exec(text)?.[0];
  return found === undefined ? null : `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** What shows on a screen: neither space nor control, and nothing that only steers the characters beside it. */
const VISIBLE = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Whether a text has a character that can be seen: a name without one helps nobody. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}
