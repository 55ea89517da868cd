/** All runs of an account that match the filters, newest first, as a file. */
import type { ExportRunsQuery, ManagedRunRow } from "@promptd/contract/manage";
import type { StreamAnswer } from "../../http/endpoint.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { csvForm, JSON_LINES, streamLines } from "./stream-rows.ts";
import { listManagedRuns } from "./managed-runs-store.ts";

const COLUMNS = [
  "runId",
  "runStatus",
  "createdAt",
  "startedAt",
  "finishedAt",
  "title",
  "slug",
  "promptId",
  "promptVersionId",
  "model",
  "credits",
  "attempts",
  "error",
  "keyId",
  "requestId",
] as const satisfies readonly (keyof ManagedRunRow)[];
const CSV = csvForm<ManagedRunRow>([...COLUMNS, "batchId", "isTest"], (row) => [
  ...COLUMNS.map((column) => row[column]),
  row.batch?.batchId ?? null,
  String(row.isTest),
]);
const PAGE = 500;

/** Runs created during the export are not included. */
export function exportRuns(db: Queryable, accountId: string, query: ExportRunsQuery): StreamAnswer {
  const { format = "jsonl", account: _account, ...filters } = query;
  const next = async (last: ManagedRunRow | undefined): Promise<readonly ManagedRunRow[]> => {
    const page = await listManagedRuns(db, accountId, { ...filters, limit: PAGE, startingAfter: last?.runId });
    return page.rows;
  };
  const disposition = { "content-disposition": `attachment; filename="runs.${format}"` };
  return streamLines(format === "csv" ? CSV : JSON_LINES, next, disposition);
}
