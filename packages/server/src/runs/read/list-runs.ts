import type { ListRunsQuery, Page, RunListRow } from "@promptd/contract";
import { unixTimeMs } from "@promptd/contract/schemas";
import type { Database } from "../../platform/database/database.ts";
import { FIRST_ID, firstIdOfMs } from "../../platform/ids.ts";
import { invalid } from "../../platform/problem.ts";
import { hasRun, listRunRows } from "../runs-store.ts";
import { withBatches } from "./batch-of-runs-store.ts";

const LIMIT_DEFAULT = 10;
/** Limit for the outputs on one page: fifty runs may have a gigabyte of them. */
const PAGE_BYTES_MAX = 16 * 2 ** 20;
const ID_MAX = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/**
 * Lists the caller's runs, newest first; returns fewer than `limit` if their outputs are large. `hasMore`: there are
 * more rows beyond the page in the direction of travel.
 * @throws Problem VALIDATION_ERROR for a cursor that is not one of the caller's runs.
 */
export async function listRuns(db: Database, accountId: string, query: ListRunsQuery): Promise<Page<RunListRow>> {
  const range = readRange(query);
  await checkCursors(db, accountId, query);
  const cursor = query.startingAfter?.toLowerCase() ?? ID_MAX;
  const { rows: found, hasMore } = await listRunRows(db, accountId, {
    before: smaller(cursor, range.before),
    from: range.from,
    after: query.endingBefore?.toLowerCase() ?? null,
    status: query.status ?? null,
    rowsMax: query.limit ?? LIMIT_DEFAULT,
    bytesMax: PAGE_BYTES_MAX,
  });
  const rows =
    query.include === "batch"
      ? (await withBatches(db, found, () => accountId)).map(({ listed, batch }) => ({ ...listed, batch }))
      : found.map(({ listed }) => listed);
  // Going backward, the query reads the rows nearest to the cursor, oldest first; the page is still newest first.
  return { rows: query.endingBefore === undefined ? rows : rows.toReversed(), hasMore };
}

/** The schema has already rejected a `since` that is not before `until`, so the range is never reversed. */
function readRange({ since, until }: ListRunsQuery): { from: string; before: string } {
  return {
    from: since === undefined ? FIRST_ID : firstIdOfMs(unixTimeMs(since)),
    before: until === undefined ? ID_MAX : firstIdOfMs(unixTimeMs(until)),
  };
}

/** A cursor of another account gets the same response as one that does not exist. */
async function checkCursors(db: Database, accountId: string, query: ListRunsQuery): Promise<void> {
  for (const name of ["startingAfter", "endingBefore"] as const) {
    const cursor = query[name];
    if (cursor === undefined || (await hasRun(db, accountId, cursor.toLowerCase()))) continue;
    const message = `${name} is not the id of one of your runs.`;
    throw invalid([{ path: ["query", name], code: "unknown_cursor", message }]);
  }
}

function smaller(a: string, b: string): string {
  return a < b ? a : b;
}
