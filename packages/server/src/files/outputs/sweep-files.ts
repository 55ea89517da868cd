import { faultPoint } from "../../platform/fault-injection.ts";
import { idTimeMs } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import { doInBatches, type Tick } from "../../platform/periodic-work.ts";
import type { BlobStore, OnSkipped } from "../blobs/blob-store.ts";
import { claimBlobStore } from "../blobs/installation-mark.ts";
import type { FilesContext } from "../files-context.ts";
import { findKnown, listRemovable, markExpired, markRemoved, readNowMs, type Removable } from "../files-store.ts";

const BATCH = 500;
/** Longer than a run may take: a younger blob may belong to a transaction that is still open. */
const ORPHAN_AGE_MS = 2 * 3_600_000;

type SweepContext = Pick<FilesContext, "db" | "blobs" | "spool" | "clock" | "newId" | "log">;

/** Every step may be repeated or interrupted anywhere: the next sweep continues from there. */
export function createSweeps(context: SweepContext): Tick[] {
  return [
    { name: "files-expiry", everySeconds: 300, run: createExpiry(context) },
    { name: "files-orphans", everySeconds: 900, run: (stop) => sweepOrphans(context, stop) },
  ];
}

/**
 * Marks expired files, and removes their bytes an hour later. Rows stay. Files that cannot be removed are skipped: after a
 * batch's worth of failures the next sweep continues after them, and at the end starts over with the oldest.
 */
function createExpiry({ db, blobs, log }: SweepContext): Tick["run"] {
  let after: Removable | null = null;
  return async (stop) => {
    const marked = await doInBatches(BATCH, () => markExpired(db, BATCH), stop);
    await faultPoint("file.after_mark");
    const skipped = countSkipped();
    let removed = 0;
    while (!isStopped(stop) && skipped.count < BATCH) {
      const files: Removable[] = await listRemovable(db, BATCH, after);
      const fileIds = files.map((file) => file.id);
      const gone = await deleteEach(blobs, fileIds, skipped.add, stop);
      await faultPoint("file.after_unlink");
      await markRemoved(db, gone);
      removed += gone.length;
      after = files.at(-1) ?? null;
      if (after === null) break;
    }
    if (marked + removed > 0) log.info({ marked, removed }, "expired files were swept");
    skipped.log(log, "some expired files could not be removed; the next sweep retries");
  };
}

/** Removes blobs whose transaction never committed, and leftovers of interrupted writes. */
async function sweepOrphans(context: SweepContext, stop: AbortSignal | undefined): Promise<void> {
  const { db, blobs, spool, clock, log } = context;
  const beforeMs = Math.min(await readNowMs(db), clock.nowMs()) - ORPHAN_AGE_MS;
  const skipped = countSkipped();
  await spool.discardBefore(beforeMs, skipped.add);
  if (!(await claimBlobStore(context))) return;
  await blobs.discardPartial(beforeMs, skipped.add);
  let removed = 0;
  let batch: string[] = [];
  const flush = async (): Promise<void> => {
    const known = await findKnown(db, batch);
    const orphans = batch.filter((key) => !known.has(key));
    removed += (await deleteEach(blobs, orphans, skipped.add, stop)).length;
    batch = [];
  };
  for await (const { key, modifiedAtMs } of blobs.list("", skipped.add)) {
    if (isStopped(stop)) break;
    // Both times must be old: the id's time is from the process that created it, the blob's from the store.
    if (Math.max(modifiedAtMs, idTimeMs(key)) >= beforeMs) continue;
    batch.push(key);
    if (batch.length === BATCH) await flush();
  }
  if (batch.length > 0) await flush();
  if (removed > 0) log.warn({ removed }, "blobs that do not belong to any run were removed");
  skipped.log(log, "some blobs that do not belong to any run could not be removed; the next sweep retries");
}

/** @returns the deleted keys. In a bucket each delete takes a while, so a stop does not wait for all of them. */
async function deleteEach(
  blobs: BlobStore,
  keys: readonly string[],
  onSkipped: OnSkipped,
  stop: AbortSignal | undefined,
): Promise<string[]> {
  const gone: string[] = [];
  for (const key of keys) {
    if (isStopped(stop)) break;
    await blobs.delete(key).then(() => void gone.push(key), onSkipped);
  }
  return gone;
}

const isStopped = (stop: AbortSignal | undefined) => stop?.aborted === true;

/** Counts what a sweep skipped, to log one line with the number and the first cause instead of one line each. */
function countSkipped() {
  let count = 0;
  let first: unknown = null;
  return {
    get count() {
      return count;
    },
    add: (cause: unknown) => {
      if (count === 0) first = cause;
      count += 1;
    },
    log: (log: Log, message: string) => {
      if (count > 0) log.error({ skipped: count, err: first }, message);
    },
  };
}
