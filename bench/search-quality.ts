/**
 * How well search ranks, beside what others use, on the same records in the same run.
 *
 *   npm run eval:search [-- --json --check --update --embeddings --no-peers
 *                           --queries FILE --judgments FILE --out FILE]
 *
 * --check       fails when a class falls below what is required, below the kept result less .01 or below the best peer less .01
 * --update      keeps this run's figures as bench/results/search.json
 * --embeddings  adds a run with a test embedder in place of a model
 * --queries     [{"qid", "q"}]: answers these, with --out as {qid: [promptId, ...]}, and measures nothing
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readCorpus, readJudgments } from "./search/evaluation-data.ts";
import type { CorpusPrompt, JudgedQuery } from "./search/evaluation-data.ts";
import { createLegs, createOwnSearch, indexCorpus } from "./search/own-systems.ts";
import { createFullText, createFuse, createMiniSearch, createTrigramPeer } from "./search/peers.ts";
import type { System } from "./search/peers.ts";
import { checkGate, KEPT_FILE } from "./search/quality-gate.ts";
import { measure, printReport, summarize } from "./search/quality-report.ts";
import type { Measured } from "./search/quality-report.ts";
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
  const queries = flags.judgments === undefined ? readJudgments() : readJudgments(flags.judgments);
  const peers =
    flags["no-peers"] === true
      ? []
      : [await createFullText(db, corpus), createTrigramPeer(corpus), createMiniSearch(corpus), createFuse(corpus)];
  const measured: Measured[] = [];
  for (const system of [own, ...(await createLegs(db)), ...peers]) measured.push(await measure(system, queries));
  // Last, for it makes the model's embedder the active one.
  if (flags.embeddings === true) {
    const embedded = await createOwnSearch(db, createTestEmbedder(corpus, queries));
    measured.push(await measure(embedded, queries));
    await embedded.search.close();
  }
  if (flags.json === true) console.log(JSON.stringify(summarize(measured), null, 1));
  else printReport(measured, queries, new Map(corpus.map(({ id, title }) => [id, title])));
  if (flags.out !== undefined) writeAnswers(measured[0]?.answers ?? {});
  if (flags.update === true) writeFileSync(KEPT_FILE, `${JSON.stringify(summarize(measured), null, 1)}\n`);
  if (flags.check === true)
    reportFaults(
      checkGate(
        measured,
        peers.map(({ name }) => name),
      ),
    );
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
