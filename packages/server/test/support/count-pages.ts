/** How much of the database a statement reads: on a busy machine this says more about its plan than its duration. */
import type { Queryable } from "../../src/platform/database/database.ts";

/** The number of 8 kB pages that the statement reads or finds in memory. The statement is executed. */
export async function countPages(db: Queryable, statement: string, values: readonly unknown[]): Promise<number> {
  const [row] = await db.query<{ "QUERY PLAN": readonly [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${statement}`,
    values,
  );
  const plan = row?.["QUERY PLAN"][0].Plan ?? {};
  return Number(plan["Shared Hit Blocks"]) + Number(plan["Shared Read Blocks"]);
}
