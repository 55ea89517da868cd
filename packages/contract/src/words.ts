/** Such as `a, b, and c`. */
export function listWords(words: Iterable<string>, conjunction: "and" | "or"): string {
  const type = conjunction === "and" ? "conjunction" : "disjunction";
  return new Intl.ListFormat("en", { type }).format(words);
}

/** Such as `1 credit` or `2 credits`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
