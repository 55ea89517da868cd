/** Finds titles that, as people type them, do not find their prompt first. */
import type { CorpusPrompt } from "../../../../bench/search/evaluation-data.ts";
import type { Search } from "../../src/search/index.ts";

const QUERY_MAX = 200;
/** As many as query the database at the same time. */
const AT_ONCE = 3;

/** Ways to type the same title. */
const FORMS: readonly ((title: string) => string)[] = [
  (title) => title,
  (title) => title.toLowerCase(),
  (title) => (title.toUpperCase().toLowerCase() === title.toLowerCase() ? title.toUpperCase() : title),
  (title) => `  ${title.replaceAll(" ", "  ")}\n`,
  (title) => `${title}!`,
  (title) => title.replaceAll(/[-–—:,;/()'"]+/g, " "),
  (title) => title.replaceAll(/\s+/gu, ""),
  (title) => title.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}+#]+/gu, ""),
];

/**
 * Searches for every `step`-th title in `forms` of the forms, which rotate.
 * @returns the queries that found another prompt first, with its title.
 */
export async function listMissedTitles(
  search: Search,
  prompts: readonly CorpusPrompt[],
  { forms, step }: { readonly forms: number; readonly step: number },
): Promise<string[]> {
  const asked = prompts.filter((_, i) => i % step === 0);
  const titleOf = new Map(prompts.map(({ id, title }) => [id, title]));
  const missed: string[] = [];
  const ask = async (title: string, i: number): Promise<void> => {
    for (let n = 0; n < forms; n += 1) {
      const query = FORMS[(i + n) % FORMS.length]?.(title) ?? title;
      if (Array.from(query.trim()).length > QUERY_MAX) continue;
      const [first = ""] = await search.find(query, 1);
      if (!isSameTitle(titleOf.get(first) ?? "", title)) missed.push(`${query} -> ${titleOf.get(first)}`);
    }
  };
  for (let i = 0; i < asked.length; i += AT_ONCE) {
    await Promise.all(asked.slice(i, i + AT_ONCE).map(({ title }, k) => ask(title, i + k)));
  }
  return missed;
}

/** Accepts any of several equals: two prompts may have the same title, or titles with the same words. */
function isSameTitle(a: string, b: string): boolean {
  const words = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}+#]+/gu, "");
  return words(a) === words(b);
}
