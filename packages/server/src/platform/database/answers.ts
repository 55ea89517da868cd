/**
 * Rows that are answers: their columns are named as the members of the answer, so nothing has to be copied. A column
 * `draft.revision` is a member of the member `draft`, which is null where all of its own members are.
 */
import type { Queryable, Statement } from "./database.ts";

/** Moments become ISO 8601, UTC, the only form in which a time leaves the server. */
export async function queryAnswers<Answer extends object>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Answer[]> {
  return (await db.query(statement, values)).map(toAnswer) as Answer[];
}

/** The first row; null: there is none. */
export async function queryAnswer<Answer extends object>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Answer | null> {
  return (await queryAnswers<Answer>(db, statement, values))[0] ?? null;
}

function toAnswer(row: object): object {
  const answer: Record<string, unknown> = {};
  const groups = new Map<string, Record<string, unknown>>();
  for (const [column, value] of Object.entries(row) as [string, unknown][]) {
    const member = value instanceof Date ? value.toISOString() : value;
    const [name = "", own] = column.split(".");
    if (own === undefined) answer[name] = member;
    else groups.set(name, { ...groups.get(name), [own]: member });
  }
  for (const [name, group] of groups) {
    answer[name] = Object.values(group).some((member) => member !== null) ? group : null;
  }
  return answer;
}
