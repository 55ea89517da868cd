/** Runs a system over judged queries, and prints the results. */
import type { JudgedQuery } from "./evaluation-data.ts";
import { bootstrapInterval, meanOf, percentile, scoreRanking } from "./measures.ts";
import type { Scores } from "./measures.ts";
import type { System } from "./peers.ts";

export interface Measured {
  readonly name: string;
  /** In the order of the queries. */
  readonly results: readonly { readonly cls: string; readonly scores: Scores; readonly ms: number }[];
  readonly answers: Readonly<Record<string, readonly string[]>>;
}

export interface MeasuredSet {
  readonly name: string;
  readonly queries: readonly JudgedQuery[];
  /** The first is promptd. */
  readonly systems: Measured[];
}

/** Every query class, and the mean of all queries. */
const ALL = "all";

export function classesOf({ results }: Measured): string[] {
  return [...new Set([...results.map(({ cls }) => cls), ALL])];
}

export interface Summary {
  readonly name: string;
  /** Query class -> figures. */
  readonly classes: Readonly<Record<string, Scores>>;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const WARM_UP = 5;
const WORST = 10;

export async function measure(system: System, queries: readonly JudgedQuery[]): Promise<Measured> {
  for (const { q } of queries.slice(0, WARM_UP)) await system.find(q);
  const results = [];
  const answers: Record<string, string[]> = {};
  for (const { qid, cls, q, rel } of queries) {
    const startMs = performance.now();
    const ranking = await system.find(q);
    results.push({ cls, scores: scoreRanking(ranking, rel), ms: performance.now() - startMs });
    answers[qid] = ranking;
  }
  return { name: system.name, results, answers };
}

export function scoresOf(measured: Measured, cls: string): Scores {
  const results = measured.results.filter((result) => cls === ALL || result.cls === cls);
  const mean = (key: keyof Scores) => round(meanOf(results.map(({ scores }) => scores[key])));
  return { ndcg: mean("ndcg"), mrr: mean("mrr"), recall: mean("recall") };
}

export function summarize(all: readonly Measured[]): Summary[] {
  return all.map((measured) => {
    const times = measured.results.map(({ ms }) => ms);
    return {
      name: measured.name,
      classes: Object.fromEntries(classesOf(measured).map((cls) => [cls, scoresOf(measured, cls)])),
      p50Ms: round(percentile(times, 0.5)),
      p95Ms: round(percentile(times, 0.95)),
    };
  });
}

export function printReport(set: MeasuredSet, titles: ReadonlyMap<string, string>): void {
  printFigures(`${set.name}: ${set.queries.length} queries`, set.systems);
  const halves = new Set(set.queries.flatMap(({ half }) => half ?? []));
  for (const half of halves) {
    const part = set.systems.map((measured) => takeHalf(measured, set.queries, half));
    printFigures(`${set.name}, half "${half}": ${part[0]?.results.length} queries`, part);
  }
  printDifferences(set.systems);
  printWorst(set, titles);
}

function takeHalf(measured: Measured, queries: readonly JudgedQuery[], half: string): Measured {
  return { ...measured, results: measured.results.filter((_, i) => queries[i]?.half === half) };
}

function printFigures(title: string, systems: readonly Measured[]): void {
  console.log(`\n${title}\nnDCG@10 / MRR@10 / recall@10`);
  const summaries = summarize(systems);
  const names = Object.keys(summaries[0]?.classes ?? {});
  console.log(`${"".padEnd(24)}${names.map((cls) => cls.padEnd(20)).join("")}p50 / p95 ms`);
  for (const { name, classes, p50Ms, p95Ms } of summaries) {
    const cells = Object.values(classes).map((scores) => showScores(scores).padEnd(20));
    console.log(`${name.padEnd(24)}${cells.join("")}${p50Ms.toFixed(1)} / ${p95Ms.toFixed(1)}`);
  }
}

function printDifferences([own, ...others]: readonly Measured[]): void {
  if (own === undefined || others.length === 0) return;
  console.log("\nnDCG@10 of promptd minus the other system's, 95% interval");
  for (const other of others) {
    const cells = classesOf(own).map((cls) => showDifference(own, other, cls).padEnd(28));
    console.log(`${other.name.padEnd(24)}${cells.join("")}`);
  }
}

/** Leaves out the half of the queries that is not examined one by one. */
function printWorst({ systems: [own], queries }: MeasuredSet, titles: ReadonlyMap<string, string>): void {
  if (own === undefined) return;
  console.log("\nworst queries");
  const worst = queries
    .map((query, i) => ({ query, ndcg: own.results[i]?.scores.ndcg ?? 0 }))
    .filter(({ query }) => query.half !== "test")
    .sort((a, b) => a.ndcg - b.ndcg)
    .slice(0, WORST);
  for (const { query, ndcg } of worst) {
    const found = (own.answers[query.qid] ?? []).slice(0, 3).map((id) => titles.get(id) ?? id);
    console.log(`${ndcg.toFixed(3)} ${query.cls.padEnd(11)} ${query.q}\n        ${found.join(" | ")}`);
  }
}

function showDifference(own: Measured, other: Measured, cls: string): string {
  const ndcgs = (measured: Measured) =>
    measured.results.filter((result) => cls === ALL || result.cls === cls).map(({ scores }) => scores.ndcg);
  const [low, high] = bootstrapInterval(ndcgs(own), ndcgs(other));
  const difference = meanOf(ndcgs(own)) - meanOf(ndcgs(other));
  return `${cls} ${sign(difference)} [${sign(low)}, ${sign(high)}]`;
}

function showScores({ ndcg, mrr, recall }: Scores): string {
  return [ndcg, mrr, recall].map((value) => value.toFixed(3).replace(/^0/, "")).join(" / ");
}

function sign(value: number): string {
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3).replace(/^0/, "")}`;
}

function round(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
