/** The same English word as others spell it: colour and color, optimise and optimize. Not errors, so not corrected. */

type Rule = readonly [ending: RegExp, other: string];

/** Regular differences of British and American spelling, both ways; a result that is no word is simply never found. */
const RULES: readonly Rule[] = [
  [/is(e|ed|es|er|ers|ing|ation|ations|able)$/, "iz$1"],
  [/iz(e|ed|es|er|ers|ing|ation|ations|able)$/, "is$1"],
  [/ys(e|ed|es|er|ers|ing)$/, "yz$1"],
  [/yz(e|ed|es|er|ers|ing)$/, "ys$1"],
  [/our(s|ed|ing|ful|less|al|able|ite|ites|ist|ists)?$/, "or$1"],
  [/or(s|ed|ing|ful|less|al|able|ite|ites|ist|ists)?$/, "our$1"],
  [/([^aeiou])re(s|d)?$/, "$1er$2"],
  [/([^aeiou])er(s)?$/, "$1re$2"],
  [/ogue(s)?$/, "og$1"],
  [/og(s)?$/, "ogue$1"],
  [/([^l])l(ed|ing|er|ers|or|ors)$/, "$1ll$2"],
  [/ll(ed|ing|er|ers|or|ors)$/, "l$1"],
  [/enc(e|es)$/, "ens$1"],
  [/ens(e|es)$/, "enc$1"],
  [/amme(s)?$/, "am$1"],
  [/am(s)?$/, "amme$1"],
];
/** Below this length a changed ending makes another word: tire and tier, hour and hor, filing and filling. */
const LETTERS_MIN = 6;
/** Two letters for one that keyboards may lack (Fuessen), and older spellings of Greek words (paediatric). */
const DIGRAPH = /[aou]e/g;

export function otherSpellings(word: string): string[] {
  if (word.length < LETTERS_MIN || !/^[a-z]+$/.test(word)) return [];
  const found = RULES.filter(([ending]) => ending.test(word)).map(([ending, other]) => word.replace(ending, other));
  for (const keep of ["first", "second"] as const) {
    const simple = word.replaceAll(DIGRAPH, (pair) => (keep === "first" ? pair.charAt(0) : pair.charAt(1)));
    if (simple !== word) found.push(simple);
  }
  return [...new Set(found)];
}
