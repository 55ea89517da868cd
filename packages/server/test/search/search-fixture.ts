/** A database with search, as publishing and unpublishing use it, for the tests of the search slice. */
import type { Database } from "../../src/platform/database/database.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { createSearch, indexDocuments, removeDocument } from "../../src/search/index.ts";
import type { Search, SearchDocument, SearchOptions } from "../../src/search/index.ts";
import { openTestDatabase } from "../support/test-database.ts";

export interface SearchFixture {
  readonly db: Database;
  readonly search: Search;
  /** Another process on the same database, with its own copy of the index. */
  openAnother(more?: Partial<SearchOptions>): Search;
  publish(...documents: readonly SearchDocument[]): Promise<void>;
  unpublish(promptId: string): Promise<void>;
  /** Titles of the results, best first. */
  titles(query: string, limit?: number): Promise<string[]>;
  /** One tick of the work with this name, or of each one if it depends on a setting. */
  runTick(search: Search, name: string): Promise<void>;
  close(): Promise<void>;
}

export async function openSearch(more: Partial<SearchOptions> = {}): Promise<SearchFixture> {
  const database = await openTestDatabase({ log: createLog("error") });
  const { db } = database;
  const opened: Search[] = [];
  const openAnother = (options: Partial<SearchOptions> = {}) => {
    const search = createSearch({ db, log: createLog("silent"), clock: systemClock, ...options });
    opened.push(search);
    return search;
  };
  const search = openAnother(more);
  return {
    db,
    search,
    openAnother,
    publish: (...documents) => db.tx((tx) => indexDocuments(tx, documents), { statementTimeoutMs: 60_000 }),
    unpublish: (id) => db.tx((tx) => removeDocument(tx, id)),
    titles: async (query, limit = 20) => {
      const ids = await search.find(query, limit);
      const rows = await db.query<{ id: string; title: string }>(
        "select prompt_id as id, title from search_docs where prompt_id = any($1::uuid[])",
        [ids],
      );
      return ids.map((id) => rows.find((row) => row.id === id)?.title ?? "(gone)");
    },
    runTick: async (owner, name) => {
      const ticks = owner.ticks.filter((tick) => tick.name === name || tick.name.startsWith(`${name} `));
      if (ticks.length === 0) throw new Error(`There is no tick ${name}.`);
      for (const tick of ticks) await tick.run();
    },
    close: async () => {
      await Promise.all(opened.map((each) => each.close()));
      await database.close();
    },
  };
}

/** The n-th prompt id; readable in a failed test. */
export function promptId(n: number): string {
  return `00000000-0000-7000-8000-${n.toString(16).padStart(12, "0")}`;
}

export function documentOf(n: number, title: string, more: Partial<SearchDocument> = {}): SearchDocument {
  return {
    promptId: promptId(n),
    promptVersionId: promptId(n + 1_000_000),
    title,
    description: "",
    tags: [],
    inputNames: [],
    ...more,
  };
}
