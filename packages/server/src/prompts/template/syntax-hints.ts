/** Hints for authors who know another language, where Liquid's own error would be cryptic. */
const HINTS: readonly (readonly [form: RegExp, hint: string])[] = [
  [/[“”„‘’]/u, "Use straight quotes: \" or '."],
  [/&&|\|\|/, 'Use "and" or "or".'],
  [/(?<![=!<>])=(?!=)|===/, "To compare for equality, write ==."],
  [/^[^"']*'[^']*$/, 'An apostrophe starts a string in Liquid. To read a key that contains one, write input["…"].'],
];

/** @param piece the expression that is not Liquid. @returns a sentence with a leading space, or an empty text. */
export function hintFor(piece: string): string {
  const hint = HINTS.find(([form]) => form.test(piece))?.[1];
  return hint === undefined ? "" : ` ${hint}`;
}

/** Tags of other languages, and common mistakes. */
const MEANT_TAGS: Readonly<Record<string, string>> = { elseif: "elsif", elif: "elsif", set: "assign", foreach: "for" };

/** The tag that may have been meant, or null. */
export function meantTag(name: string, args: string): string | null {
  if (name === "else") return args.startsWith("if ") ? "elsif" : null;
  return Object.hasOwn(MEANT_TAGS, name) ? (MEANT_TAGS[name] ?? null) : null;
}
