import type { Run } from "@promptd/contract";
import type { Database } from "../../platform/database/database.ts";
import { orNotFound } from "../../platform/problem.ts";
import { findRun } from "../runs-store.ts";

/** @throws Problem NOT_FOUND_ERROR, the same for a run that is absent and one of another account. */
export async function getRun(db: Database, accountId: string, runId: string): Promise<Run> {
  return orNotFound(await findRun(db, accountId, runId), "run", runId);
}
