/** Rows that are answers: their columns are named as the members of the answer, so nothing has to be copied. */
import type { Queryable, Statement } from "./database.ts";

/** Moments become ISO 8601, UTC, the only form in which a time leaves the server. */
export async function queryAnswers<Answer extends object>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Answer[]> {
  return (await db.query(statement, values)).map(withTexts) as Answer[];
}

/** The first row; null: there is none. */
export async function queryAnswer<Answer extends object>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Answer | null> {
  return (await queryAnswers<Answer>(db, statement, values))[0] ?? null;
}

function withTexts(row: object): object {
  const members = Object.entries(row).map(([name, value]: [string, unknown]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(members) as object;
}
