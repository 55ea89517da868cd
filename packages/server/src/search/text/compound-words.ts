/** Words that some write together and others apart, and words shortened by counting their letters. */
import type { Vocabulary } from "./vocabulary.ts";

const PART_LETTERS_MIN = 3;
/** A part that stands in one title only may be a typing error itself. */
const PART_TITLES_MIN = 2;

/** `weatherchart`: the two words of titles it is made of, or null. Of several ways the one with the more usual words. */
export function splitWord(word: string, vocabulary: Vocabulary): readonly [string, string] | null {
  let best: { parts: readonly [string, string]; titles: number } | null = null;
  for (let at = PART_LETTERS_MIN; at <= word.length - PART_LETTERS_MIN; at += 1) {
    const parts = [word.slice(0, at), word.slice(at)] as const;
    const titles = Math.min(...parts.map((part) => vocabulary.find(part)?.titleCount ?? 0));
    if (titles >= PART_TITLES_MIN && titles > (best?.titles ?? 0)) best = { parts, titles };
  }
  return best?.parts ?? null;
}

const NUMERONYM = /^([a-z])(\d{1,2})([a-z])$/;

/** Fewer letters nobody counts: with two or three, b2b, e2e, p2p and w3c are names of their own. */
const COUNTED_MIN = 5;

/** `l10n`: l, ten letters, n. Of the words that fit the one of most titles, then of most documents; or null. */
export function spellOut(word: string, vocabulary: Vocabulary): string | null {
  const [, first = "", count = "", last = ""] = NUMERONYM.exec(word) ?? [];
  if (Number(count) < COUNTED_MIN) return null;
  const [best] = [...vocabulary.ofLength(Number(count) + 2)]
    .filter((entry) => entry.word.startsWith(first) && entry.word.endsWith(last))
    .sort((a, b) => b.titleCount - a.titleCount || b.count - a.count);
  return best?.word ?? null;
}
