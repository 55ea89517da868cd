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

/** `l10n`: l, ten letters, n. The word of most titles that fits, or null. */
export function spellOut(word: string, vocabulary: Vocabulary): string | null {
  const [, first = "", count = "", last = ""] = NUMERONYM.exec(word) ?? [];
  if (Number(count) < COUNTED_MIN) return null;
  let best: { word: string; titles: number } | null = null;
  for (const { word: candidate, titleCount } of vocabulary.ofLength(Number(count) + 2)) {
    const isBetter = titleCount > (best?.titles ?? 0);
    if (isBetter && candidate.startsWith(first) && candidate.endsWith(last)) {
      best = { word: candidate, titles: titleCount };
    }
  }
  return best?.word ?? null;
}
