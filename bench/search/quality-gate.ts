/** The figures below which a change of search may not go. */
import { existsSync, readFileSync } from "node:fs";
import { CLASSES, scoresOf, summarize } from "./quality-report.ts";
import type { Measured, QueryClass, Summary } from "./quality-report.ts";

export const KEPT_FILE = new URL("../results/search.json", import.meta.url);

/** nDCG@10 on the development judgments without a key. */
const REQUIRED: Readonly<Record<QueryClass, number>> = {
  lexical: 0.945,
  typo: 0.935,
  paraphrase: 0.23,
  all: 0.63,
};
const TOLERANCE = 0.01;

/** @returns one sentence for every figure that is too low; empty when all hold. The first of `all` is promptd. */
export function checkGate(all: readonly Measured[], peers: readonly string[]): string[] {
  const [own] = all;
  if (own === undefined) return ["nothing was measured"];
  const kept = readKept().find(({ name }) => name === own.name);
  return CLASSES.flatMap((cls) => {
    const value = scoresOf(own, cls).ndcg;
    const bounds = [
      { bound: REQUIRED[cls], what: "required" },
      { bound: (kept?.classes[cls].ndcg ?? 0) - TOLERANCE, what: `kept result less ${TOLERANCE}` },
      ...summarize(all.filter(({ name }) => peers.includes(name))).map(({ name, classes }) => ({
        bound: classes[cls].ndcg - TOLERANCE,
        what: `${name} less ${TOLERANCE}`,
      })),
    ];
    return bounds
      .filter(({ bound }) => value < bound)
      .map(({ bound, what }) => `${cls} ${value.toFixed(4)} < ${bound.toFixed(4)} (${what})`);
  });
}

function readKept(): Summary[] {
  return existsSync(KEPT_FILE) ? (JSON.parse(readFileSync(KEPT_FILE, "utf8")) as Summary[]) : [];
}
