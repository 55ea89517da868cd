import { expect, test } from "vitest";
import { decodeDataFile, encodeDataFile } from "../data/data-file.ts";
import { decodeExpansions, encodeExpansions, loadExpansions, type ExpansionTable } from "./expansion.ts";

async function tableOf(entries: Readonly<Record<string, Readonly<Record<string, number>>>>): Promise<ExpansionTable> {
  const table = new Map(
    Object.entries(entries).map(([lemma, list]) => [
      lemma,
      Object.entries(list).map(([term, weight]) => ({ term, weight })),
    ]),
  );
  return decodeExpansions(await decodeDataFile(encodeDataFile(encodeExpansions(table))));
}

test("a packed table returns its content, strongest first, with weights accurate to one part in 255", async () => {
  const table = await tableOf({ car: { vehicl: 0.35, automobil: 0.8 }, zebra: {}, aardvark: { anteat: 0.5 } });
  expect(table.expand("car").map(({ term }) => term)).toEqual(["automobil", "vehicl"]);
  expect(table.expand("car")[0]?.weight).toBeCloseTo(0.8, 2);
  expect(table.expand("zebra")).toEqual([]);
  expect(table.hasWord("zebra")).toBe(true);
  expect(table.hasWord("zebu")).toBe(false);
});

test("regular endings are removed", async () => {
  const table = await tableOf({
    city: { town: 0.8 },
    leaf: {},
    box: {},
    run: { jog: 0.5 },
    bake: { cook: 0.6 },
    play: {},
  });
  for (const word of ["cities", "leaves", "boxes", "running", "baking", "baked", "plays", "player"]) {
    expect(table.hasWord(word), word).toBe(true);
  }
  expect(table.expand("cities")).toEqual(table.expand("city"));
});

test("a form that is itself a word adds its own relations, and the higher weight counts", async () => {
  const table = await tableOf({ meeting: { gather: 0.8 }, meet: { gather: 0.2, encount: 0.6 } });
  expect(table.expand("meeting").map(({ term, weight }) => [term, Math.round(weight * 10) / 10])).toEqual([
    ["gather", 0.8],
    ["encount", 0.6],
  ]);
});

test("the shipped table knows English synonyms, and which words are English", async () => {
  const table = await loadExpansions();
  expect(table.expand("doctor").map(({ term }) => term)).toContain("physician");
  expect(table.expand("cars").map(({ term }) => term)).toContain("automobil");
  expect(table.hasWord("photosynthesis")).toBe(true);
  expect(table.hasWord("recepie")).toBe(false);
});
