/** The record of provider calls (provider-calls-store.ts): counted before each call, completed after it, deleted later. */
import { randomUUID } from "node:crypto";
import type { Database } from "../../platform/database/database.ts";
import { OUTAGE_POLICY } from "../../platform/database/errors.ts";
import { createFailureLog, type Log } from "../../platform/log.ts";
import { createBatcher } from "../../platform/resilience/batcher.ts";
import { gatherCalls } from "../../platform/resilience/gather-calls.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { doInBatches, type Tick } from "../../platform/periodic-work.ts";
import { availability } from "../catalogue/availability.ts";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.ts";
import { providerOf } from "../providers/all-providers.ts";
import { makesJobs } from "../providers/provider.ts";
import {
  countCalls,
  deleteOldCalls,
  recordEnds,
  type CallEnd,
  type CallKey,
  type CallStart,
  type CallToCount,
} from "./provider-calls-store.ts";

const COUNTED_TOGETHER_MAX = 500;
const BATCHES_AT_ONCE = 2;

/** Rejects if the database keeps failing: then no call may be made. */
export type CountCall = (call: Omit<CallToCount, "id">) => Promise<CallStart>;

/**
 * Counts calls in batches, so a burst of thousands of calls costs tens of commits.
 * (2,000 single inserts through eight connections took more than 5 s on a busy disk, measured 2026-11.)
 */
export function createCallCount(db: Database): CountCall {
  const send = (calls: readonly CallToCount[]) => retry(() => countOncePerItem(db, calls), OUTAGE_POLICY);
  const count = createBatcher({ send, max: COUNTED_TOGETHER_MAX, inFlightMax: BATCHES_AT_ONCE });
  return async (call) => {
    const counted = { ...call, id: randomUUID() };
    let start = await count(counted);
    while (start === null) start = await count(counted);
    return start;
  };
}

/** Two attempts of one run must not read the same count. @returns null for a call that must be counted again. */
async function countOncePerItem(db: Database, calls: readonly CallToCount[]): Promise<(CallStart | null)[]> {
  const byItem = new Map(calls.map((call) => [itemOf(call), call]));
  const starts = await countCalls(db, [...byItem.values()]);
  const startOf = new Map([...byItem.values()].map((call, index) => [call, starts[index] ?? null]));
  return calls.map((call) => startOf.get(call) ?? null);
}

function itemOf({ request: { runId, step, item } }: CallToCount): string {
  return `${runId} ${step} ${item}`;
}

/** A call that can be counted in the transaction that creates its run, for a worker that makes the call right away. */
export type FirstCall = CallToCount["entry"] & {
  /** Somebody follows the run's text as it is written. */
  readonly isFollowed: boolean;
};

/** Null: count the call when it is made. Jobs always are, after a check whether an earlier attempt already started one. */
export function firstCallOf(
  catalogue: Pick<Catalogue, "find" | "isEnabled">,
  model: string,
): CallToCount["entry"] | null {
  const found = availability(catalogue, model);
  if (found.kind !== "available" || makesJobs(providerOf(found.entry.provider), found.entry.modality)) return null;
  const { provider, providerModel } = found.entry;
  return { model, provider, providerModel };
}

/** A call that was counted with its run. It is either made once or uncounted. */
export class CountedCall {
  readonly #start: Extract<CallStart, { kind: "begun" }>;
  readonly #model: string;
  #isTaken = false;

  constructor(runId: string, { model, isFollowed }: FirstCall) {
    this.#start = { kind: "begun", key: { runId, step: 0, item: 0, callNumber: 1 }, isFollowed };
    this.#model = model;
  }

  /** Null: the call is for another model, or was already made. */
  take({ model }: Pick<CatalogueEntry, "model">): CallStart | null {
    if (this.#isTaken || model !== this.#model) return null;
    this.#isTaken = true;
    return this.#start;
  }

  /** The key to uncount; null: the call was made. */
  get unmade(): CallKey | null {
    return this.#isTaken ? null : this.#start.key;
  }
}

/**
 * Collects how calls ended and writes it in batches. The record is for the operator, so no run waits for it. If the
 * process dies first, the call stays without an outcome, which is the truth: nobody knows how it ended.
 */
export interface CallRecord {
  add(end: CallEnd): void;
  /** Resolves when everything added so far is written, or writing it failed. */
  flush(): Promise<void>;
}

const RECORDED_TOGETHER_MAX = 200;
/** Without it, runs in quick succession would cost one statement each. */
const LINGER_MS = 100;
/** During a database outage, the oldest entries beyond this are dropped: memory matters more. */
const UNWRITTEN_MAX = 20_000;

export function createCallRecord(db: Database, log: Log): CallRecord {
  const unwritten: CallEnd[] = [];
  const fails = "the outcomes of provider calls cannot be recorded; retrying";
  const failures = createFailureLog(log, fails, "the outcomes of provider calls can be recorded again");
  const write = gatherCalls(LINGER_MS, async () => {
    while (unwritten.length > 0) {
      const batch = unwritten.splice(0, RECORDED_TOGETHER_MAX);
      try {
        await recordEnds(db, batch);
        failures.worked();
      } catch (error) {
        unwritten.unshift(...batch); // for the next flush
        failures.failed(error);
        return;
      }
    }
  });
  return {
    add: (end) => {
      unwritten.push(end);
      if (unwritten.length > UNWRITTEN_MAX) unwritten.shift();
      write();
    },
    flush: write.flush,
  };
}

/** Small enough that locks are held only briefly. */
const DELETED_TOGETHER = 5_000;

/** Without it the record would grow by one row per call forever. */
export function createProviderCallsTick(db: Database, log: Log): Tick {
  return {
    name: "provider-calls-expiry",
    everySeconds: 3_600,
    run: async (stop) => {
      const deleted = await doInBatches(DELETED_TOGETHER, () => deleteOldCalls(db, DELETED_TOGETHER), stop);
      if (deleted > 0) log.info({ deleted }, "old records of provider calls were deleted");
    },
  };
}
