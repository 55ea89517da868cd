/**
 * How long a search takes, compared with plain full-text search over the same prompts in the same run (method:
 * interleaved rounds, ratios, an A/A control).
 */
import { existsSync, readFileSync } from "node:fs";
import { defineCase } from "../harness/bench-case.ts";
import { readCorpus, readJudgments } from "../search/evaluation-data.ts";
import type { CorpusPrompt } from "../search/evaluation-data.ts";
import { EXPENSIVE_QUERIES, dearPrompts, growCatalogue } from "../search/grown-catalogue.ts";
import { meanOf, percentile } from "../search/measures.ts";
import { createLegs, createOwnSearch, indexCorpus } from "../search/own-systems.ts";
import { createFullText } from "../search/peers.ts";
import type { System } from "../search/peers.ts";
import { createScratchDatabase } from "../search/scratch-database.ts";

const HELD_ROUNDS = 7;
/** The main thread's time on a processor, and its time ready without one, both in ns. */
const SCHEDULE = "/proc/self/schedstat";
/** The requirement on a quiet machine, in milliseconds per size. */
const REQUIRED_MS: Readonly<Record<string, { p50: number; p95: number }>> = {
  "4098": { p50: 8, p95: 20 },
  "10000": { p50: 15, p95: 40 },
  "100000": { p50: 50, p95: 120 },
};

interface Timed {
  readonly name: string;
  readonly coldMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly minRoundP50Ms: number;
  /** Median over rounds of this p50 / full text's p50 in the same round. */
  readonly ratio: number;
}

/** Prompts. */
const COUNTS = [4_098, 10_000, 100_000];

/** `docs`: the largest catalogue. */
export const searchLatency = defineCase({
  sizes: { docs: [100_000, 4_098], rounds: [5, 1] },
  measure: async ({ sizes }) => {
    const results = [];
    for (const count of COUNTS.filter((one) => one <= sizes.docs)) results.push(await measureSize(count, sizes.rounds));
    return { results };
  },
});

async function measureSize(count: number, rounds: number) {
  const corpus = growCatalogue(readCorpus(), count);
  const scratch = await createScratchDatabase();
  const rssBeforeMb = process.memoryUsage().rss / 1e6;
  const indexStartMs = performance.now();
  await indexCorpus(scratch.db, corpus);
  const indexMs = performance.now() - indexStartMs;
  const own = await createOwnSearch(scratch.db, null);
  const rssAddedMb = process.memoryUsage().rss / 1e6 - rssBeforeMb;
  const full = await createFullText(scratch.db, corpus);
  const again = { name: "full text again", find: (query: string) => full.find(query) };
  const [lexical, dense] = await createLegs(scratch.db);
  const systems = [full, own, lexical, dense, again].filter((system) => system !== undefined);
  const timed = await measureRounds(systems, rounds);
  const blocked = await measureBlocking(own);
  const timedBusy = await measureWhilePublishing(own, scratch.db, corpus);
  await indexCorpus(scratch.db, dearPrompts());
  const dear = await measureDear(own);
  const result = { count, indexMs, rssAddedMb, timed, eventLoop: blocked, dear, whilePublishing: timedBusy };
  print(result);
  await own.search.close();
  await scratch.drop();
  return result;
}

const queries = readJudgments().map(({ q }) => q);

/** Each round begins with a different system, so that none always runs on a warmer machine. */
async function measureRounds(systems: readonly System[], rounds: number): Promise<Timed[]> {
  const times = new Map(systems.map(({ name }) => [name, [] as number[][]]));
  const cold = new Map<string, number>();
  for (const system of systems) cold.set(system.name, await timeOf(() => system.find(queries[0] ?? "")));
  for (const system of systems) for (const query of queries) await system.find(query);
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < systems.length; i += 1) {
      const system = systems[(i + round) % systems.length];
      if (system === undefined) continue;
      const ms = [];
      for (const query of queries) ms.push(await timeOf(() => system.find(query)));
      times.get(system.name)?.push(ms);
    }
  }
  const base = (times.get("full text") ?? []).map((round) => percentile(round, 0.5));
  return systems.map(({ name }) => {
    const own = times.get(name) ?? [];
    const p50s = own.map((round) => percentile(round, 0.5));
    return {
      name,
      coldMs: cold.get(name) ?? 0,
      p50Ms: percentile(own.flat(), 0.5),
      p95Ms: percentile(own.flat(), 0.95),
      minRoundP50Ms: Math.min(...p50s),
      ratio: percentile(
        p50s.map((p50, i) => p50 / (base[i] ?? 1)),
        0.5,
      ),
    };
  });
}

/**
 * The longest time in each query during which nothing else in the process could run: the median of several tries, because
 * a try may include a garbage collection, which `longestMs` shows.
 */
async function measureBlocking(system: System) {
  const held = new Map<string, number[]>();
  for (let round = 0; round < HELD_ROUNDS; round += 1) {
    for (const query of queries) held.set(query, [...(held.get(query) ?? []), await holdOf(() => system.find(query))]);
  }
  const medians = [...held.values()].map((tries) => percentile(tries, 0.5));
  return {
    p50Ms: percentile(medians, 0.5),
    p99Ms: percentile(medians, 0.99),
    maxMs: Math.max(...medians),
    longestMs: Math.max(...[...held.values()].flat()),
  };
}

/** The same for queries designed to block the process as long as a query can. */
async function measureDear(system: System) {
  await system.find(queries[0] ?? ""); // loads the new prompts
  const rows = [];
  for (const [name, queryOf] of Object.entries(EXPENSIVE_QUERIES)) {
    const held: number[] = [];
    const ms: number[] = [];
    for (let round = 0; round < HELD_ROUNDS; round += 1) {
      ms.push(await timeOf(async () => held.push(await holdOf(() => system.find(queryOf(round))))));
    }
    rows.push({ name, heldMs: percentile(held, 0.5), longestMs: Math.max(...held), p50Ms: percentile(ms, 0.5) });
  }
  return rows;
}

/**
 * The longest time between two iterations of the event loop while `work` runs, without the time that this thread was ready
 * and the machine ran others (where it says so, as Linux does).
 */
async function holdOf(work: () => Promise<unknown>): Promise<number> {
  const state = { isWorking: true, longestMs: 0, lastMs: performance.now() - runDelayMs() };
  const turn = () => {
    const nowMs = performance.now() - runDelayMs();
    state.longestMs = Math.max(state.longestMs, nowMs - state.lastMs);
    state.lastMs = nowMs;
    if (state.isWorking) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  state.isWorking = false;
  await new Promise((resolve) => setImmediate(resolve)); // ends the last measured interval
  return state.longestMs;
}

function runDelayMs(): number {
  if (!existsSync(SCHEDULE)) return 0;
  const [, delayNs] = readFileSync(SCHEDULE, "utf8").split(" ");
  return Number(delayNs) / 1e6;
}

async function measureWhilePublishing(
  system: System,
  db: Parameters<typeof indexCorpus>[0],
  corpus: readonly CorpusPrompt[],
) {
  const changed = corpus.slice(0, 200).map((prompt) => ({ ...prompt, title: `${prompt.title} anew` }));
  const state = { isPublishing: true };
  const publishing = indexCorpus(db, changed).finally(() => {
    state.isPublishing = false;
  });
  const ms: number[] = [];
  for (let i = 0; state.isPublishing || i < queries.length; i += 1) {
    ms.push(await timeOf(() => system.find(queries[i % queries.length] ?? "")));
  }
  await publishing;
  return { p50Ms: percentile(ms, 0.5), p95Ms: percentile(ms, 0.95), meanMs: meanOf(ms) };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function print(result: Awaited<ReturnType<typeof measureSize>>): void {
  const { count, indexMs, rssAddedMb, timed, eventLoop, dear, whilePublishing } = result;
  console.error(
    `\n${count} prompts; indexed in ${(indexMs / 1_000).toFixed(1)} s; index copy and data +${rssAddedMb.toFixed(0)} MB`,
  );
  console.error(`${"".padEnd(18)}p50 ms   p95 ms   best p50  cold ms  p50 / full text`);
  for (const { name, p50Ms, p95Ms, minRoundP50Ms, coldMs, ratio } of timed) {
    const cells = [p50Ms, p95Ms, minRoundP50Ms, coldMs, ratio].map((value) => value.toFixed(2).padStart(8));
    console.error(`${name.padEnd(16)}${cells.join(" ")}`);
  }
  console.error(
    `event loop held by a query (median of ${HELD_ROUNDS} tries): p50 ${eventLoop.p50Ms.toFixed(1)}, p99 ${eventLoop.p99Ms.toFixed(1)}, most ${eventLoop.maxMs.toFixed(1)} ms; longest single try ${eventLoop.longestMs.toFixed(1)} ms`,
  );
  console.error("expensive queries".padEnd(54) + "held ms  longest   p50 ms");
  for (const { name, heldMs, longestMs, p50Ms } of dear) {
    const cells = [heldMs, longestMs, p50Ms].map((value) => value.toFixed(1).padStart(8));
    console.error(`  ${name.padEnd(50)}${cells.join(" ")}`);
  }
  console.error(
    `while publishing: p50 ${whilePublishing.p50Ms.toFixed(1)}, p95 ${whilePublishing.p95Ms.toFixed(1)} ms`,
  );
  const required = REQUIRED_MS[String(count)];
  if (required !== undefined)
    console.error(`required on a quiet machine: p50 <= ${required.p50}, p95 <= ${required.p95} ms`);
}
