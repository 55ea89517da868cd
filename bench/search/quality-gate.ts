/** The minimum figures that search must reach after a change. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { classesOf, scoresOf } from "./quality-report.ts";
import type { Measured, Summary } from "./quality-report.ts";

export const STORED_FILE = new URL("../results/search.json", import.meta.url);

export interface StoredResult {
  /** The hash of everything that the peers' figures depend on. If it changes, they must be measured again. */
  readonly inputs: string;
  /** Set name -> figures of every system. */
  readonly sets: Readonly<Record<string, readonly Summary[]>>;
}

/** nDCG@10 without a key. For dev and own: .005 below the figures before search knew needs and other languages. */
const REQUIRED: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  dev: { lexical: 0.9603, typo: 0.9601, paraphrase: 0.3326, all: 0.63 },
  own: { lexical: 0.9346, typo: 0.9363, paraphrase: 0.3294 },
  need: { need: 0.66 },
  foreign: { foreign: 0.7 },
};
const TOLERANCE = 0.01;

/** @returns one sentence per figure that is too low; empty if all are met. The first of `systems` is promptd. */
export function checkGate(set: string, systems: readonly Measured[], peers: readonly Summary[]): string[] {
  const [own] = systems;
  if (own === undefined) return ["nothing was measured"];
  const stored = readStored().sets[set]?.find(({ name }) => name === own.name);
  return classesOf(own).flatMap((cls) => {
    const value = scoresOf(own, cls).ndcg;
    const bounds = [
      { bound: REQUIRED[set]?.[cls] ?? 0, what: "required" },
      { bound: (stored?.classes[cls]?.ndcg ?? 0) - TOLERANCE, what: `stored result minus ${TOLERANCE}` },
      ...peers.map(({ name, classes }) => ({
        bound: (classes[cls]?.ndcg ?? 0) - TOLERANCE,
        what: `${name} minus ${TOLERANCE}`,
      })),
    ];
    return bounds
      .filter(({ bound }) => value < bound)
      .map(({ bound, what }) => `${set}, ${cls}: ${value.toFixed(4)} < ${bound.toFixed(4)} (${what})`);
  });
}

const PEERS = ["full text", "trigram", "MiniSearch", "Fuse.js"];

/** The peers' stored figures: their code, settings, and data are fixed, and one of them takes minutes. */
export function readStoredPeers(set: string): Summary[] {
  const found = (readStored().sets[set] ?? []).filter(({ name }) => PEERS.includes(name));
  if (found.length !== PEERS.length) throw new Error(`bench/results/search.json lacks peers for the set ${set}.`);
  return found;
}

export function readStored(): StoredResult {
  return JSON.parse(readFileSync(STORED_FILE, "utf8")) as StoredResult;
}

const INPUT_FILES = [
  "corpus.json.gz",
  "judgments.dev.json",
  "judgments.own.json",
  "judgments.need.json",
  "judgments.foreign.json",
  "peers.ts",
  "measures.ts",
];
const PEER_PACKAGES = ["fuse.js", "minisearch"];

export function hashInputs(): string {
  const hash = createHash("sha256");
  for (const name of INPUT_FILES) hash.update(readFileSync(new URL(name, import.meta.url)));
  const root = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as RootPackage;
  for (const name of PEER_PACKAGES) hash.update(`${name}@${root.devDependencies[name]}`);
  return hash.digest("hex");
}

interface RootPackage {
  readonly devDependencies: Readonly<Record<string, string>>;
}
