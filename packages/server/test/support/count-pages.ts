/** How much of the database a statement reads, which says of its plan what a time cannot on a busy machine. */
import type { Queryable } from "../../src/platform/database/database.ts";

/** 8 kB pages that the statement reads, and those that it finds in memory. It is executed. */
export async function countPages(db: Queryable, statement: string, values: readonly unknown[]): Promise<number> {
  const [row] = await db.query<{ "QUERY PLAN": readonly [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${statement}`,
    values,
  );
  const plan = row?.["QUERY PLAN"][0].Plan ?? {};
  return Number(plan["Shared Hit Blocks"]) + Number(plan["Shared Read Blocks"]);
}
