import type { Page, PageQuery } from "@promptd/contract";
import { invalid, type Problem } from "../problem.ts";
import { queryAnswers } from "./answers.ts";
import type { Queryable } from "./database.ts";

export interface PageSource {
  /** What a row is, such as "run", for the message about an unknown cursor. */
  readonly what: string;
  /** With the names of the answer's members. */
  readonly columns: string;
  /** A table, or joined tables; the list is ordered by `id`. */
  readonly from: string;
  /** Refers to `values` as $1 to $n. */
  readonly where: string;
  readonly values: readonly unknown[];
  /** The cursor column; `id` when absent. */
  readonly id?: string;
}

const LIMIT_DEFAULT = 10;

/**
 * Reads one page of a list, newest first, by ids that increase with time; cursors are row ids in lower case.
 * @throws Problem VALIDATION_ERROR for a cursor that is not a row of the list, such as a row of another account.
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

/** Collects the conditions of a query that apply: a single plan for all possible filters could use no index. */
export function createFilters(where: string[], values: unknown[]) {
  return {
    where,
    values,
    /** Adds a condition, unless its value is undefined. */
    add: (condition: (parameter: string) => string, value: unknown): void => {
      if (value !== undefined) where.push(condition(`$${values.push(value)}`));
    },
  };
}

/** Yields all pages of a list. `next` reads the page after a row, or the first page; an empty page is the end. */
export async function* walkPages<Row>(
  next: (last: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let page = await next(undefined); page.length > 0; page = await next(page.at(-1))) yield page;
}

/** The answer to a cursor that is not in the list. `what`: what a row of the list is. */
export function unknownCursor(query: PageQuery, what: string): Problem {
  const name = query.startingAfter === undefined ? "endingBefore" : "startingAfter";
  return invalid([
    { path: ["query", name], code: "unknown_cursor", message: `${name} does not match any ${what} in this list.` },
  ]);
}
