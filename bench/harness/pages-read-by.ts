import type { Queryable } from "../../packages/server/src/platform/database/database.ts";
import { countPages } from "../../packages/server/test/support/count-pages.ts";

/** @returns the 8 kB pages that the statements of `work` read. They are executed, but `work` gets no rows. */
export async function pagesReadBy(db: Queryable, work: (db: Queryable) => Promise<unknown>): Promise<number> {
  let pages = 0;
  await work({
    query: async (statement, values = []) => {
      pages += await countPages(db, typeof statement === "string" ? statement : statement.text, values);
      return [];
    },
  });
  return pages;
}
