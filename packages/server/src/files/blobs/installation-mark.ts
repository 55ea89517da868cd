/**
 * Whose blobs a store holds. The sweep of orphans removes what its own database has no row for, so it must know that no
 * other database has one: an empty database started on these files by mistake, a staging server that shares the bucket,
 * a copy of the database, or the same one restored from an older backup.
 *
 * The store carries a mark: the installation's id and a name for the last sweep. Each sweep writes a new one, after the
 * database has noted what it found and what it writes; a sweep that dies in between finds again what it found before.
 * Whoever finds another mark has not been alone, and removes nothing until an operator has written the id by hand. Of
 * two databases with one id both are stopped, since neither can tell which is the copy; that is known after the next
 * turn of the other, long before blobs that only one of them knows are old enough to go.
 */
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import type { BlobStore } from "./blob-store.ts";
import { findKnown, readStoreMark, saveStoreMark, type StoreMark } from "../files-store.ts";

interface MarkPorts {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly newId: () => string;
  readonly log: Log;
}

const CONTESTED = "contested";

/** True when this database may remove what it has no row for; the store then carries its mark. */
export async function takeStore(ports: MarkPorts): Promise<boolean> {
  const { db, blobs, newId, log } = ports;
  const own = await readStoreMark(db, newId());
  const { installationId } = own;
  const mark = await blobs.readMark();
  const stranger = mark === null ? await strangerOfUnmarked(ports) : strangerOfMark(mark, own);
  if (stranger === null) {
    const written = `${installationId} ${newId()}`;
    await saveStoreMark(db, { seen: mark ?? "", written });
    await blobs.writeMark(written);
    return true;
  }
  if (mark?.startsWith(installationId)) await blobs.writeMark(`${installationId} ${CONTESTED}`);
  log.error({ installationId, mark: blobs.markPlace }, `${stranger} ${WHAT_TO_DO}`);
  return false;
}

const WHAT_TO_DO =
  "So no file without a row is removed. Give each installation a PROMPTD_DATA_DIR or PROMPTD_S3_PREFIX of its own; " +
  "if this is the only database that uses these files, write its installationId, alone, into the mark.";

/** Null: the mark is what this database left, or its id alone, an operator's word. */
function strangerOfMark(mark: string, { installationId, seen, written }: StoreMark): string | null {
  if ([installationId, seen, written].includes(mark)) return null;
  if (!mark.startsWith(installationId)) return "These files belong to another installation.";
  return "These files were swept by another database with the id of this one: a copy of it, or a newer state than the backup it was restored from.";
}

const BATCH = 500;
/** Orphans are rare: a store that holds more blobs without a row than this part is not only this database's. */
const UNKNOWN_PART_MAX = 0.1;

/** Null: the store has no mark yet and is empty, or this database knows what lies in it. */
async function strangerOfUnmarked({ db, blobs }: MarkPorts): Promise<string | null> {
  let total = 0;
  let known = 0;
  let batch: string[] = [];
  const count = async (): Promise<void> => {
    total += batch.length;
    known += (await findKnown(db, batch)).size;
    batch = [];
  };
  for await (const { key } of blobs.list("", () => {})) {
    batch.push(key);
    if (batch.length === BATCH) await count();
  }
  await count();
  if (total - known <= total * UNKNOWN_PART_MAX) return null;
  return "These files carry no mark, and this database knows too few of them to take them for its own.";
}
