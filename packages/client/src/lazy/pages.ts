import type { Page } from "@promptd/contract";

/** The rows of all pages. @param read gives the page behind the row with this id; undefined: the first one. */
export async function* readPages<Row>(
  read: (startingAfter: string | undefined) => Promise<Page<Row>>,
  idOf: (row: Row) => string,
): AsyncGenerator<Row, void> {
  let last: string | undefined;
  for (;;) {
    const { rows, hasMore } = await read(last);
    yield* rows;
    const row = rows.at(-1);
    if (!hasMore || row === undefined) return;
    last = idOf(row);
  }
}
