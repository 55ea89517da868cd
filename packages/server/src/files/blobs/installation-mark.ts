/**
 * Records which installation a blob store belongs to. The orphan sweep removes blobs that have no row in its own database,
 * so it must know that no other database has one. Examples of other databases: an empty one started on these files by
 * mistake, a staging server that shares the bucket, a copy of the database, or the same one restored from an older backup.
 *
 * The store has a mark: the installation's id and a name for the last sweep. Each sweep writes a new mark after the
 * database has recorded both the old and the new one; after a sweep that dies in between, the next finds one of the two.
 * A sweep that finds any other mark was not alone, and removes nothing until an operator has written the id by hand. If
 * two databases have the same id, both stop, since neither can tell which is the copy. This is noticed at the latest when
 * the other one sweeps next, long before blobs that only one of them knows are old enough to be removed.
 */
import type { FilesContext } from "../files-context.ts";
import { findKnown, readInstallationMark, saveInstallationMark, type InstallationMark } from "../files-store.ts";

type MarkContext = Pick<FilesContext, "db" | "blobs" | "newId" | "log">;

const CONTESTED = "contested";

/** @returns true if this database may remove blobs that it has no row for; the store then has its mark. */
export async function claimBlobStore(context: MarkContext): Promise<boolean> {
  const { db, blobs, newId, log } = context;
  const own = await readInstallationMark(db, newId());
  const { installationId } = own;
  const mark = await blobs.readMark();
  const objection = mark === null ? await objectionToUnmarked(context) : objectionToMark(mark, own);
  if (objection === null) {
    const written = `${installationId} ${newId()}`;
    await saveInstallationMark(db, { seen: mark ?? "", written });
    await blobs.writeMark(written);
    return true;
  }
  if (mark?.startsWith(installationId)) await blobs.writeMark(`${installationId} ${CONTESTED}`);
  log.error({ installationId, mark: blobs.markLocation }, `${objection} ${WHAT_TO_DO}`);
  return false;
}

const WHAT_TO_DO =
  "Until this is resolved, files without a row are not removed. Give each installation its own PROMPTD_DATA_DIR or PROMPTD_S3_PREFIX. " +
  "If this is the only database that uses these files, replace the content of the mark with its installationId.";

/** Null: this database left the mark, or an operator wrote its id alone. */
function objectionToMark(mark: string, { installationId, seen, written }: InstallationMark): string | null {
  if ([installationId, seen, written].includes(mark)) return null;
  if (!mark.startsWith(installationId)) return "These files belong to another installation.";
  return "Another database with the same installation id has swept these files: a copy of this one, or the state after the backup that this one was restored from.";
}

const BATCH = 500;
/** Orphans are rare: if a larger share of blobs has no row, another database uses the store too. */
const UNKNOWN_SHARE_MAX = 0.1;

/** Null: the unmarked store is empty, or this database knows its content. */
async function objectionToUnmarked({ db, blobs }: MarkContext): Promise<string | null> {
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
  if (total - known <= total * UNKNOWN_SHARE_MAX) return null;
  return "These files have no installation mark, and this database has rows for too few of them to be their owner.";
}
