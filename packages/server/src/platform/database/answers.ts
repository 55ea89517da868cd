/**
 * Reads rows as answers: their columns have the names of the answer's members, so nothing has to be copied. The column
 * `draft.revision` becomes the member `revision` of `draft`, which is null if all of its members are.
 */
import type { Queryable, Statement } from "./database.ts";

/** Reads rows; times become ISO 8601 in UTC, the only form in which times leave the server. */
export async function queryAnswers<Answer extends object>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Answer[]> {
  return (await db.query(statement, values)).map(toAnswer) as Answer[];
}

/** Reads the first row; null: there is none. */
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
