import type { Database } from "../platform/database.ts";
import { fault } from "../platform/fault.ts";
import { idTimeMs } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Tick } from "../platform/ticks.ts";
import type { BlobStore } from "./file-store.ts";
import { findKnown, listRemovable, markExpired, markRemoved, readNowMs } from "./files-store.ts";
import type { Spool } from "./spool.ts";

const BATCH = 500;
/** Longer than a run may take: a blob younger than this may belong to a transaction that is still open. */
const ORPHAN_AGE_MS = 2 * 3_600_000;

export interface SweepPorts {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly spool: Spool;
  readonly log: Log;
}

/** Two pieces of periodic work. Each step may be repeated or broken off anywhere: the next turn goes on from there. */
export function createSweeps(ports: SweepPorts): Tick[] {
  return [
    { name: "files-expiry", everySeconds: 300, run: () => sweepExpired(ports) },
    { name: "files-orphans", everySeconds: 900, run: () => sweepOrphans(ports) },
  ];
}

/** Marks what has expired, and an hour later removes its bytes. Rows stay. */
async function sweepExpired({ db, blobs, log }: SweepPorts): Promise<void> {
  let marked = 0;
  for (let batch = BATCH; batch === BATCH; marked += batch) batch = await markExpired(db, BATCH);
  await fault("file.after_mark");
  let removed = 0;
  for (;;) {
    const fileIds = await listRemovable(db, BATCH);
    if (fileIds.length === 0) break;
    for (const fileId of fileIds) await blobs.delete(fileId);
    await fault("file.after_unlink");
    await markRemoved(db, fileIds);
    removed += fileIds.length;
  }
  if (marked + removed > 0) log.info({ marked, removed }, "expired files were swept");
}

/** Removes blobs whose transaction never committed, and what interrupted writes left. */
async function sweepOrphans({ db, blobs, spool, log }: SweepPorts): Promise<void> {
  const beforeMs = (await readNowMs(db)) - ORPHAN_AGE_MS;
  await blobs.discardPartial(beforeMs);
  await spool.discardBefore(beforeMs);
  let removed = 0;
  let batch: string[] = [];
  const flush = async (): Promise<void> => {
    const known = await findKnown(db, batch);
    const orphans = batch.filter((key) => !known.has(key));
    for (const key of orphans) await blobs.delete(key);
    removed += orphans.length;
    batch = [];
  };
  for await (const { key, modifiedAtMs } of blobs.list("")) {
    // Both times must be old: the id is dated by the process that made it, the blob by the store.
    if (Math.max(modifiedAtMs, idTimeMs(key)) >= beforeMs) continue;
    batch.push(key);
    if (batch.length === BATCH) await flush();
  }
  if (batch.length > 0) await flush();
  if (removed > 0) log.warn({ removed }, "blobs that belong to no run were removed");
}
