/**
 * Counts sends in batches: what arrives while a batch is being written goes into the next one, so that a burst of
 * thousands of calls costs tens of commits. One call alone is written at once.
 * (2,000 single inserts through eight connections took more than 5 s on a busy disk, measured 2026-11.)
 */
import { randomUUID } from "node:crypto";
import type { Database } from "../../platform/database/database.ts";
import { OUTAGE_POLICY } from "../../platform/database/errors.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { beginSends, type SendStart, type SendWish } from "./provider-calls-store.ts";

export interface SendCounter {
  /** Rejects when the database does, and goes on doing so: then nothing may be sent. */
  begin(wish: Omit<SendWish, "id">): Promise<SendStart>;
}

interface Waiting {
  readonly wish: SendWish;
  readonly resolve: (start: SendStart) => void;
  readonly reject: (error: unknown) => void;
}

const BATCH_MAX = 500;
const BATCHES_AT_ONCE = 2;

export function createSendCounter(db: Database): SendCounter {
  let waiting: Waiting[] = [];
  let writing = 0;
  const writeBatch = async (batch: readonly Waiting[]): Promise<void> => {
    const wishes = batch.map(({ wish }) => wish);
    const starts = await retry(() => beginSends(db, wishes), OUTAGE_POLICY);
    for (const [place, each] of batch.entries()) {
      const start = starts[place] ?? null;
      if (start === null) waiting.push(each);
      else each.resolve(start);
    }
  };
  const write = async (): Promise<void> => {
    writing += 1;
    while (waiting.length > 0) {
      const { batch, rest } = takeBatch(waiting);
      waiting = rest;
      await writeBatch(batch).catch((error: unknown) => {
        for (const each of batch) each.reject(error);
      });
    }
    writing -= 1;
  };
  return {
    begin: (wish) =>
      new Promise((resolve, reject) => {
        waiting.push({ wish: { ...wish, id: randomUUID() }, resolve, reject });
        if (writing < BATCHES_AT_ONCE) void write();
      }),
  };
}

/** One wish per item and batch: two attempts of one run must not both read the same count. */
function takeBatch(waiting: readonly Waiting[]): { batch: Waiting[]; rest: Waiting[] } {
  const items = new Set<string>();
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  for (const each of waiting) {
    const { runId, step, item } = each.wish.request;
    const key = `${runId} ${step} ${item}`;
    const fits = batch.length < BATCH_MAX && !items.has(key);
    items.add(key);
    (fits ? batch : rest).push(each);
  }
  return { batch, rest };
}
