import { beforeAll, expect, test } from "vitest";
import { loadExpansions, type ExpansionTable } from "./expansion.ts";
import { createTranslator, loadTranslator, type Translator } from "./translation.ts";

let table: ExpansionTable;
let translator: Translator;
beforeAll(async () => {
  [table, translator] = await Promise.all([loadExpansions(), loadTranslator()]);
});

function translate(query: string, titled: readonly string[] = []) {
  const known = { isEnglish: (word: string) => table.hasWord(word), isTitled: (word: string) => titled.includes(word) };
  return translator.translate(query, known);
}
const english = (query: string, titled: readonly string[] = []) => translate(query, titled)?.text;

test.each([
  ["Rezept für Kuchen", "recipe for cake dessert"],
  ["Übersetze meinen Brief", "translate letter"],
  ["idées de cadeaux pour Noël", "idea gift for christmas"],
  ["l'histoire de l'art", "story art"],
  ["recetas fáciles", "recipe simple"],
  ["plano de negócios", "plan business"],
  ["regalo di compleanno", "gift birthday"],
])("%s is read in English", (query, text) => {
  expect(english(query)).toBe(text);
});

test("a phrase and a German compound mean more than their parts", () => {
  expect(english("une lettre de motivation")).toBe("cover letter");
  expect(english("Hochzeitsrede")).toBe("wedding speech");
});

test.each([
  "fur coat",
  "pour over coffee",
  "die casting",
  "e-mail marketing",
  "résumé",
  "café menu",
  "resumee bulider",
  "comment moderation",
])("%s stays English", (query) => {
  expect(translate(query)).toBeNull();
});

test("a stop word with an accent is not the English word without it", () => {
  expect(english("Logo für Anfänger")).toBe("logo for beginner");
  expect(translate("fur")).toBeNull();
  expect(translate("für")).toBeNull(); // nothing else is asked for
});

test("the original word is searched too, with less weight if it means something else in English", () => {
  expect(translate("Rezept mit Käse")?.others.get("recipe")).toEqual([{ word: "rezept", weight: 1 }]);
  expect(translate("cadeau de Noël")?.others.get("christmas")).toEqual([{ word: "noel", weight: 0.3 }]);
});

test("a word with two meanings is searched for both, and the first counts most", () => {
  const { text, others } = translate("eine lange Geschichte") ?? {};
  expect(text).toBe("long story");
  expect(others?.get("story")).toContainEqual({ word: "history", weight: 0.6 });
});

test("two words with one meaning are both searched as written", () => {
  expect(translate("Auto und Wagen für Kinder")?.others.get("car")).toEqual([
    { word: "auto", weight: 1 },
    { word: "wagen", weight: 1 },
  ]);
});

test("words in the list's comments are not used as English words", () => {
  const tiny = createTranslator("# Geschenk means gift\ngift|Geschenk|cadeau|regalo|presente|regalo");
  const known = { isEnglish: () => false, isTitled: () => false };
  expect(tiny.translate("Geschenk", known)?.text).toBe("gift");
});

test("a word that is not in the list is neither corrected nor expanded as if it were English", () => {
  expect(english("Rezept mit Topinambur")).toBe('recipe with "topinambur"');
});

test("words that the catalogue's titles all have stay as written", () => {
  expect(english("Rezept für Kuchen", ["rezept", "kuchen"])).toBe("rezept for kuchen");
  expect(english("Rezept für Kuchen", ["rezept"])).toBe("recipe for cake dessert");
});

test("quoted words are used as written", () => {
  expect(translate('"Rezept" für Kuchen')).toBeNull();
});

test("each line of the list has a word for each language", () => {
  const tiny = createTranslator("dog|Hund|chien|perro|cachorro|cane");
  const known = { isEnglish: () => false, isTitled: () => false };
  for (const word of ["Hund", "chiens", "perros", "cachorros", "cane"])
    expect(tiny.translate(word, known)?.text).toBe("dog");
});
