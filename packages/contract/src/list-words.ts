/** Such as `a, b, and c`. */
export function listWords(words: Iterable<string>, conjunction: "and" | "or"): string {
  const type = conjunction === "and" ? "conjunction" : "disjunction";
  return new Intl.ListFormat("en", { type }).format(words);
}
