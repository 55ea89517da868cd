/** Reads the last records of `npm run bench` from bench/results/ for the performance page. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { claims } from "../bench/cases/claims.ts";
import type { createRunCase } from "../bench/cases/create-run.ts";
import type { httpEdge } from "../bench/cases/http-edge.ts";
import type { memory } from "../bench/cases/memory.ts";
import type { queueThroughput } from "../bench/cases/queue-throughput.ts";
import type { recovery } from "../bench/cases/recovery.ts";
import type { runList } from "../bench/cases/run-list.ts";
import type { startUp } from "../bench/cases/start-up.ts";
import type { twoWorkers } from "../bench/cases/two-workers.ts";
import type { waiting } from "../bench/cases/waiting-10k.ts";
import type { ResultOf } from "../bench/harness/bench-case.ts";
import type { describeMeasurement } from "../bench/harness/measurement.ts";
import type { Spread } from "../bench/harness/spread.ts";

const RESULTS = join(import.meta.dirname, "../bench/results");

/** What was measured, how often, and on which machine. */
export type Machine = Omit<ReturnType<typeof describeMeasurement>, "loadAverage"> & {
  readonly sizes: Readonly<Record<string, number>>;
  /** Cores that other work used. */
  readonly otherWork: { readonly before: number; readonly after: number };
  readonly database: string;
  /** How long it takes to flush a page of the write-ahead log to disk. */
  readonly flushMs: Spread;
};

export interface Records {
  readonly "create-run": ResultOf<typeof createRunCase>;
  readonly "queue-throughput": ResultOf<typeof queueThroughput>;
  readonly "http-edge": ResultOf<typeof httpEdge>;
  readonly claims: ResultOf<typeof claims>;
  readonly "two-workers": ResultOf<typeof twoWorkers>;
  readonly "run-list": ResultOf<typeof runList>;
  readonly recovery: ResultOf<typeof recovery>;
  readonly "start-up": ResultOf<typeof startUp>;
  readonly memory: ResultOf<typeof memory>;
  readonly "waiting-10k": ResultOf<typeof waiting>;
}

export type RecordOf<Name extends keyof Records> = Records[Name] & Machine;

/** Null: there is no record. */
export type ReadRecord = <Name extends keyof Records>(name: Name) => RecordOf<Name> | null;

/** Null: there is no record, or only one in an earlier format, which does not name its case. */
export function readRecord<Name extends keyof Records>(name: Name): RecordOf<Name> | null {
  const file = join(RESULTS, `${name}.json`);
  if (!existsSync(file)) return null;
  return parseRecord(name, readFileSync(file, "utf8"));
}

/** Members that a case may leave null. */
const NULLABLE: ReadonlySet<string> = new Set(["version", "growth"]);

/** Any other null in a record was NaN, which JSON cannot represent; it must not count as 0. */
export function parseRecord<Name extends keyof Records>(name: Name, text: string): RecordOf<Name> | null {
  const revive = (key: string, value: unknown) => (value === null && !NULLABLE.has(key) ? NaN : value);
  const record = JSON.parse(text, revive) as RecordOf<Name> & { readonly case?: string };
  return record.case === name ? record : null;
}

/** Cores: above this, other work took processor time away from the measurement. */
export const OTHER_WORK_MAX = 0.2;

export function isQuiet({ otherWork }: Pick<Machine, "otherWork">): boolean {
  return Math.max(otherWork.before, otherWork.after) <= OTHER_WORK_MAX;
}
