import type { Page } from "@promptd/contract";

/** The rows of all pages. @param read returns the page after the row with this id; undefined: the first page. */
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
