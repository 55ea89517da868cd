/**
 * Measures how well search ranks, compared with other systems, on the same records in the same run, for the development
 * judgments and for queries written later without them.
 *
 *   npm run eval:search [-- --json --check --update --embeddings --no-peers
 *                           --queries FILE --judgments FILE --out FILE]
 *
 * --check       fails if a class of a set falls below the requirement, more than .01 below the stored result, or more
 *               than .01 below the best peer
 * --update      stores this run's figures in bench/results/search.json, for --check and for the gate in `npm test`
 * --embeddings  adds a run with a test embedder instead of a model
 * --judgments   measures with this file instead of the stored sets
 * --queries     [{"qid", "q"}]: answers these, to --out as {qid: [promptId, ...]}, and measures nothing
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { JUDGMENT_SETS, readCorpus, readJudgments } from "./search/evaluation-data.ts";
import type { CorpusPrompt, JudgedQuery } from "./search/evaluation-data.ts";
import { createLegs, createOwnSearch, indexCorpus } from "./search/own-systems.ts";
import { createFullText, createFuse, createMiniSearch, createTrigramPeer } from "./search/peers.ts";
import type { System } from "./search/peers.ts";
import { checkGate, hashInputs, STORED_FILE } from "./search/quality-gate.ts";
import { measure, printReport, summarize } from "./search/quality-report.ts";
import type { MeasuredSet, Summary } from "./search/quality-report.ts";
import { createScratchDatabase } from "./search/scratch-database.ts";
import { createTestEmbedder } from "./search/test-embedder.ts";

const { values: flags } = parseArgs({
  options: {
    queries: { type: "string" },
    judgments: { type: "string" },
    out: { type: "string" },
    json: { type: "boolean" },
    check: { type: "boolean" },
    update: { type: "boolean" },
    embeddings: { type: "boolean" },
    "no-peers": { type: "boolean" },
  },
});

async function main(): Promise<void> {
  const corpus = readCorpus();
  const scratch = await createScratchDatabase();
  try {
    await indexCorpus(scratch.db, corpus);
    const own = await createOwnSearch(scratch.db, null);
    if (flags.queries !== undefined) await answerOnly(own, flags.queries);
    else await compare(corpus, own, scratch.db);
    await own.search.close();
  } finally {
    await scratch.drop();
  }
}

async function answerOnly(own: System, file: string): Promise<void> {
  const queries = JSON.parse(readFileSync(file, "utf8")) as Pick<JudgedQuery, "qid" | "q">[];
  const answers: Record<string, string[]> = {};
  for (const { qid, q } of queries) answers[qid] = await own.find(q);
  writeAnswers(answers);
}

type Db = Parameters<typeof createLegs>[0];

async function compare(corpus: readonly CorpusPrompt[], own: System, db: Db): Promise<void> {
  const sets = readSets();
  const peers = flags["no-peers"] === true ? [] : await createPeers(db, corpus);
  const systems = [own, ...(await createLegs(db)), ...peers];
  const measured: MeasuredSet[] = [];
  for (const { name, queries } of sets) {
    measured.push({ name, queries, systems: [] });
    for (const system of systems) measured.at(-1)?.systems.push(await measure(system, queries));
  }
  // Last, because it makes the model's embedder the active one.
  if (flags.embeddings === true) await measureEmbedded(db, corpus, measured);
  report(
    measured,
    corpus,
    peers.map(({ name }) => name),
  );
}

function readSets(): { name: string; queries: JudgedQuery[] }[] {
  if (flags.judgments !== undefined) return [{ name: flags.judgments, queries: readJudgments(flags.judgments) }];
  return Object.entries(JUDGMENT_SETS).map(([name, file]) => ({ name, queries: readJudgments(file) }));
}

async function createPeers(db: Db, corpus: readonly CorpusPrompt[]): Promise<System[]> {
  return [await createFullText(db, corpus), createTrigramPeer(corpus), createMiniSearch(corpus), createFuse(corpus)];
}

async function measureEmbedded(db: Db, corpus: readonly CorpusPrompt[], sets: readonly MeasuredSet[]): Promise<void> {
  const queries = sets.flatMap((set) => set.queries);
  const embedded = await createOwnSearch(db, createTestEmbedder(corpus, queries));
  for (const set of sets) set.systems.push(await measure(embedded, set.queries));
  await embedded.search.close();
}

function report(sets: readonly MeasuredSet[], corpus: readonly CorpusPrompt[], peers: readonly string[]): void {
  const record = {
    inputs: hashInputs(),
    sets: Object.fromEntries(sets.map((set) => [set.name, summarize(set.systems)])),
  };
  if (flags.json === true) console.log(JSON.stringify(record, null, 1));
  else for (const set of sets) printReport(set, new Map(corpus.map(({ id, title }) => [id, title])));
  if (flags.out !== undefined) writeAnswers(Object.assign({}, ...sets.map(({ systems }) => systems[0]?.answers)));
  if (flags.update === true) writeFileSync(STORED_FILE, `${JSON.stringify(record, null, 1)}\n`);
  if (flags.check === true) reportFaults(sets.flatMap((set) => checkGate(set.name, set.systems, peersOf(set, peers))));
}

function peersOf({ systems }: MeasuredSet, peers: readonly string[]): Summary[] {
  return summarize(systems.filter(({ name }) => peers.includes(name)));
}

function writeAnswers(answers: Readonly<Record<string, readonly string[]>>): void {
  const text = `${JSON.stringify(answers)}\n`;
  if (flags.out === undefined) process.stdout.write(text);
  else writeFileSync(flags.out, text);
}

function reportFaults(faults: readonly string[]): void {
  for (const fault of faults) console.error(`below the gate: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}

await main();
