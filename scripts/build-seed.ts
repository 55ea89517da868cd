/**
 * Builds packages/server/seed/catalogue.json from the reviewed selection, the source records, and the samples next to it.
 *
 *   node --conditions=promptd-source scripts/build-seed.ts                    rebuild
 *   node --conditions=promptd-source scripts/build-seed.ts <catalogue.json>   take the chosen records anew from a full catalogue first
 *
 * The output depends only on the three committed files. A test compares the bytes.
 */
import { readFile, writeFile } from "node:fs/promises";
import { convertRecord } from "./seed-conversion.ts";
import type { SelectionEntry, SourceRecord } from "./seed-conversion.ts";

const SEED = new URL("../packages/server/seed/", import.meta.url);
const RECORDS = new URL("source/records.json", SEED);

/** The text of catalogue.json: one prompt per line, so that changing a prompt changes one line. */
export function buildCatalogue(
  selection: readonly SelectionEntry[],
  records: readonly SourceRecord[],
  samples: Samples,
): string {
  const byId = new Map(records.map((record) => [record.id, record]));
  const prompts = selection.map((entry) => {
    const prompt = convertRecord(findRecord(byId, entry.id), entry);
    const inputs = samples[prompt.slug];
    return inputs === undefined ? prompt : { ...prompt, samples: [{ inputs }] };
  });
  return `{"promptd": 1, "prompts": [\n${prompts.map((prompt) => JSON.stringify(prompt)).join(",\n")}\n]}\n`;
}

export async function readSelection(): Promise<SelectionEntry[]> {
  return JSON.parse(await readFile(new URL("source/selection.json", SEED), "utf8")) as SelectionEntry[];
}

/** Sample inputs for each prompt, by slug. Written for this project. */
export type Samples = Readonly<Record<string, Readonly<Record<string, string>>>>;

export async function readSamples(): Promise<Samples> {
  return JSON.parse(await readFile(new URL("source/samples.json", SEED), "utf8")) as Samples;
}

export async function readRecords(): Promise<SourceRecord[]> {
  return JSON.parse(await readFile(RECORDS, "utf8")) as SourceRecord[];
}

function findRecord(byId: ReadonlyMap<string, SourceRecord>, id: string): SourceRecord {
  const record = byId.get(id);
  if (record === undefined) throw new Error(`The selection names ${id}, which is not in the source records.`);
  return record;
}

/** Copies the selected records from a full catalogue, unchanged and in the order of the selection. */
async function copyRecords(catalogueFile: string): Promise<void> {
  const all = JSON.parse(await readFile(catalogueFile, "utf8")) as SourceRecord[];
  const byId = new Map(all.map((record) => [record.id, record]));
  const chosen = (await readSelection()).map((entry) => JSON.stringify(findRecord(byId, entry.id)));
  await writeFile(RECORDS, `[\n${chosen.join(",\n")}\n]\n`);
}

if (import.meta.main) {
  const [catalogueFile] = process.argv.slice(2);
  if (catalogueFile !== undefined) await copyRecords(catalogueFile);
  const catalogue = buildCatalogue(await readSelection(), await readRecords(), await readSamples());
  await writeFile(new URL("catalogue.json", SEED), catalogue);
  console.log(`catalogue.json: ${catalogue.split("\n").length - 3} prompts, ${Buffer.byteLength(catalogue)} bytes`);
}
