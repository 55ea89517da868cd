import { readFileSync, readdirSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { decompose } from "../../../../scripts/search-data/svd.ts";
import { trainVectors } from "../../../../scripts/search-data/lsa-training.ts";
import { buildGeneralVectors, readTrainingPrompts } from "../../../../scripts/build-search-data.ts";
import { decodeDataFile } from "../../src/search/data/data-file.ts";
import { decodeBaseVectors } from "../../src/search/meaning/lsa.ts";
import { loadBuiltInEmbedder } from "../../src/search/meaning/built-in-embedder.ts";
import { hashSections } from "../../src/search/meaning/word-vectors.ts";

const DIRECTORY = new URL("../../search-data/", import.meta.url);

const readSections = async (name: string) => decodeDataFile(await readFile(new URL(name, DIRECTORY)));

test("the shipped data stays within eight megabytes", () => {
  const bytes = readdirSync(DIRECTORY).map((name) => statSync(new URL(name, DIRECTORY)).size);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(8_000_000);
});

test("the license of the derived word data is shipped with it", () => {
  const notice = readFileSync(new URL("NOTICE.md", DIRECTORY), "utf8");
  expect(notice).toContain("WordNet 3.1 Copyright 2011 by Princeton University");
  expect(notice).toContain("The name of Princeton University or Princeton may not be used in");
  expect(notice).toContain("GloVe");
  expect(notice).toContain("Open Data Commons Public Domain Dedication and Licence 1.0");
  expect(notice).toContain("Copyright (c) 2024  GRAYPE Systems Private Limited");
});

test("the decomposition finds the known singular values of a matrix", () => {
  // diag(5, 4, 3, 2, 1) with its columns permuted.
  const size = 5;
  const matrix = {
    rowCount: size,
    columnCount: size,
    starts: Uint32Array.of(0, 1, 2, 3, 4, 5),
    columns: Uint32Array.of(3, 0, 4, 1, 2),
    values: Float64Array.of(5, 4, 3, 2, 1),
  };
  const { left, singular } = decompose(matrix, { rank: 3, oversampling: 2, powerIterations: 3, seed: 1 });
  expect([...singular].map((value) => Math.round(value * 1e6) / 1e6)).toEqual([5, 4, 3]);
  for (const [k, column] of left.entries()) expect(Math.abs(column[k] ?? 0)).toBeCloseTo(1, 6);
});

test("training is deterministic: the same prompts give the same bits", () => {
  const prompts = readTrainingPrompts().slice(0, 60);
  const [a, b] = [trainVectors(prompts), trainVectors(prompts)];
  expect(a.terms).toEqual(b.terms);
  expect(a.vectors.map((vector) => [...vector])).toEqual(b.vectors.map((vector) => [...vector]));
  expect(a.vectors.every((vector) => Math.abs(Math.hypot(...vector) - 1) < 1e-9)).toBe(true);
});

test("the general vectors are exactly what the kept words produce, byte for byte", async () => {
  const learned = decodeBaseVectors(await readSections("base-vectors.bin.gz"));
  const built = await buildGeneralVectors(learned, readTrainingPrompts());
  const rebuild = "run: node --conditions=promptd-source scripts/build-search-data.ts";
  expect(hashSections(built), rebuild).toBe(hashSections(await readSections("general-vectors.bin.gz")));
});

test("the shipped vectors cover the words of the training prompts and common English", async () => {
  const [learned, general] = (await loadBuiltInEmbedder()).tables;
  for (const term of ["recip", "databas", "resum", "travel", "logo", "poem"]) {
    expect(learned?.knows(term)).toBe(true);
    expect(general?.knows(term)).toBe(true);
  }
  for (const term of ["trombon", "ikea", "pokemon"]) expect(general?.knows(term)).toBe(true);
  expect(learned?.knows("xylozant")).toBe(false);
  expect(general?.knows("xylozant")).toBe(false);
});
