import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { fault } from "../../platform/fault.ts";
import { idTimeMs } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Tick } from "../../platform/ticks.ts";
import type { BlobStore, OnSkipped } from "../blobs/blob-store.ts";
import { findKnown, listRemovable, markExpired, markRemoved, readNowMs, type Removable } from "../files-store.ts";
import type { Spool } from "../blobs/spool.ts";
import { takeStore } from "../blobs/installation-mark.ts";

const BATCH = 500;
/** Longer than a run may take: a blob younger than this may belong to a transaction that is still open. */
const ORPHAN_AGE_MS = 2 * 3_600_000;

export interface SweepPorts {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly spool: Spool;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Log;
}

/** Two pieces of periodic work. Each step may be repeated or broken off anywhere: the next turn goes on from there. */
export function createSweeps(ports: SweepPorts): Tick[] {
  return [
    { name: "files-expiry", everySeconds: 300, run: createExpiry(ports) },
    { name: "files-orphans", everySeconds: 900, run: (stop) => sweepOrphans(ports, stop) },
  ];
}

/**
 * Marks what has expired, and an hour later removes its bytes. Rows stay. What cannot be removed is passed over: after
 * as many failures as a batch has, the next turn of this process goes on behind them, and at the end from the oldest.
 */
function createExpiry({ db, blobs, log }: SweepPorts): Tick["run"] {
  let after: Removable | null = null;
  return async (stop) => {
    let marked = 0;
    for (let batch = BATCH; batch === BATCH && !isStopped(stop); marked += batch) batch = await markExpired(db, BATCH);
    await fault("file.after_mark");
    const skipped = createSkips();
    let removed = 0;
    while (!isStopped(stop) && skipped.count < BATCH) {
      const files: Removable[] = await listRemovable(db, BATCH, after);
      const gone = await deleteEach(
        blobs,
        files.map((file) => file.id),
        skipped,
        stop,
      );
      await fault("file.after_unlink");
      await markRemoved(db, gone);
      removed += gone.length;
      after = files.at(-1) ?? null;
      if (after === null) break;
    }
    if (marked + removed > 0) log.info({ marked, removed }, "expired files were swept");
    skipped.tell(log, "expired files could not be removed; they are tried again");
  };
}

/** Removes blobs whose transaction never committed, and what interrupted writes left. */
async function sweepOrphans(ports: SweepPorts, stop: AbortSignal | undefined): Promise<void> {
  const { db, blobs, spool, clock, log } = ports;
  const beforeMs = Math.min(await readNowMs(db), clock.nowMs()) - ORPHAN_AGE_MS;
  const skipped = createSkips();
  await spool.discardBefore(beforeMs, skipped.add);
  if (!(await takeStore(ports))) return;
  await blobs.discardPartial(beforeMs, skipped.add);
  let removed = 0;
  let batch: string[] = [];
  const flush = async (): Promise<void> => {
    const known = await findKnown(db, batch);
    const orphans = batch.filter((key) => !known.has(key));
    removed += (await deleteEach(blobs, orphans, skipped, stop)).length;
    batch = [];
  };
  for await (const { key, modifiedAtMs } of blobs.list("", skipped.add)) {
    if (isStopped(stop)) break;
    // Both times must be old: the id is dated by the process that made it, the blob by the store.
    if (Math.max(modifiedAtMs, idTimeMs(key)) >= beforeMs) continue;
    batch.push(key);
    if (batch.length === BATCH) await flush();
  }
  if (batch.length > 0) await flush();
  if (removed > 0) log.warn({ removed }, "blobs that belong to no run were removed");
  skipped.tell(log, "what belongs to no run could not all be removed; it is tried again");
}

/** @returns those that are gone: in a bucket each takes a while, so a stop does not wait for them all. */
async function deleteEach(
  blobs: BlobStore,
  keys: readonly string[],
  skipped: Skips,
  stop: AbortSignal | undefined,
): Promise<string[]> {
  const gone: string[] = [];
  for (const key of keys) {
    if (isStopped(stop)) break;
    await blobs.delete(key).then(() => void gone.push(key), skipped.add);
  }
  return gone;
}

const isStopped = (stop: AbortSignal | undefined) => stop?.aborted === true;

/** What a turn passed over: one log line of how many, with the first cause, and not one for each. */
interface Skips {
  readonly count: number;
  readonly add: OnSkipped;
  tell(log: Log, message: string): void;
}

function createSkips(): Skips {
  let count = 0;
  let first: unknown = null;
  return {
    get count() {
      return count;
    },
    add: (cause) => {
      if (count === 0) first = cause;
      count += 1;
    },
    tell: (log, message) => {
      if (count > 0) log.error({ skipped: count, err: first }, message);
    },
  };
}
