import type { Page, PageQuery } from "@promptd/contract";
import { invalid, type Problem } from "../problem.ts";
import { queryAnswers } from "./answers.ts";
import type { Queryable } from "./database.ts";

export interface PageSource {
  /** What its rows are, in one word or few: a cursor that is none of them is answered with it. */
  readonly what: string;
  /** Named as the members of an answer. */
  readonly columns: string;
  /** A table, or tables joined; the list is ordered by `id`. */
  readonly from: string;
  /** Over `values`, which are $1 to $n. */
  readonly where: string;
  readonly values: readonly unknown[];
  /** The column of the cursor; `id` when absent. */
  readonly id?: string;
}

const LIMIT_DEFAULT = 10;

/**
 * One page of a list, newest first, by ids that rise with time; the cursors are ids of rows, in lower case.
 * @throws Problem VALIDATION_ERROR for a cursor that is not a row of the list, which includes one of somebody else's.
 */
export async function readPage<Item extends object>(
  db: Queryable,
  query: PageQuery,
  { what, columns, from, where, values, id = "id" }: PageSource,
): Promise<Page<Item>> {
  const cursor = query.startingAfter ?? query.endingBefore ?? null;
  const parameter = `$${values.length + 1}`;
  if (cursor !== null) {
    const known = await db.query(`select 1 from ${from} where ${where} and ${id} = ${parameter}`, [...values, cursor]);
    if (known.length === 0) throw unknownCursor(query, what);
  }
  const isBackwards = query.endingBefore !== undefined;
  const limit = query.limit ?? LIMIT_DEFAULT;
  const beyond = cursor === null ? "" : ` and ${id} ${isBackwards ? ">" : "<"} ${parameter}`;
  const rows = await queryAnswers<Item>(
    db,
    `select ${columns} from ${from} where ${where}${beyond} order by ${id} ${isBackwards ? "asc" : "desc"} limit ${limit + 1}`,
    cursor === null ? values : [...values, cursor],
  );
  const page = rows.slice(0, limit);
  return { rows: isBackwards ? page.toReversed() : page, hasMore: rows.length > limit };
}

/** All pages of a walk. `next` reads the page behind a row, or the first; an empty page is the end. */
export async function* walkPages<Row>(
  next: (last: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let page = await next(undefined); page.length > 0; page = await next(page.at(-1))) yield page;
}

/** The answer to a cursor that is not in the list. `what`: of what it would be the id. */
export function unknownCursor(query: PageQuery, what: string): Problem {
  const name = query.startingAfter === undefined ? "endingBefore" : "startingAfter";
  return invalid([
    { path: ["query", name], code: "unknown_cursor", message: `${name} is the id of no ${what} in this list.` },
  ]);
}
