/** A page of the run list costs the same at any depth and with any filter, however many runs the account has. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Queryable } from "../../src/platform/database/database.ts";
import { FIRST_ID } from "../../src/platform/ids.ts";
import { listRunRows, type RunPage } from "../../src/runs/runs-store.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";
import { countPages } from "../support/count-pages.ts";
import { openSession } from "./open-session.ts";

let engine: Engine;
let accountId: string;
beforeAll(async () => {
  engine = await openEngine();
  accountId = await engine.createAccount();
  await engine.createRun(accountId);
  await fill(30_000);
  await engine.db.query("vacuum analyze runs");
});
afterAll(() => engine.close());

/** Runs that succeeded, spread over the table, a third of them in the account. The runs of 50 other accounts failed. */
async function fill(runs: number): Promise<void> {
  await engine.db.query(
    `insert into runs (account_id, id, prompt_version_id, run_name, model, deadline_at, created_at, prices, inputs,
         status, finished_at)
       select case when n % 3 = 0 then $1 else md5((n % 50)::text)::uuid end, md5(n::text)::uuid, prompt_version_id,
         run_name, model, deadline_at, created_at, prices, inputs,
         case when n % 3 = 0 then 'succeeded' else 'failed' end, promptd_now()
       from (select * from runs limit 1) r, generate_series(1, $2::int) n`,
    [accountId, runs],
  );
}

const MIDDLE = "80000000-0000-0000-0000-000000000000";
const FIRST_PAGE: RunPage = {
  before: "ffffffff-ffff-ffff-ffff-ffffffffffff",
  from: FIRST_ID,
  after: null,
  status: null,
  rowsMax: 10,
  bytesMax: 2 ** 24,
};

/** The 8 kB pages that a page of the list reads, with the plan that a session keeps for all values. */
async function readPages(page: RunPage): Promise<number> {
  const session = await openSession(engine.url);
  await session.query("set plan_cache_mode = force_generic_plan");
  let pages = Number.NaN;
  const counter: Queryable = {
    query: async (statement, values = []) => {
      await session.query(`prepare listed as ${typeof statement === "string" ? statement : statement.text}`);
      const listed = `execute listed (${values.map((value) => `'${String(value)}'`).join(", ")})`;
      await countPages(session, listed, []); // reads the catalog, which a new connection does not know yet
      pages = await countPages(session, listed, []);
      return [];
    },
  };
  await listRunRows(counter, accountId, page);
  return pages;
}

test.each<[string, Partial<RunPage>]>([
  ["the newest runs", {}],
  ["runs in the middle", { before: MIDDLE }],
  ["runs in the middle, backward", { after: MIDDLE }],
  ["runs of one status in the middle", { before: MIDDLE, status: "succeeded" }],
  ["a status that the account has no runs of", { status: "failed" }],
  ["a status that the account has no runs of, backward", { after: FIRST_ID, status: "failed" }],
  ["a status that a span of time has no runs of", { from: FIRST_ID, before: MIDDLE, status: "failed" }],
])("a page of %s reads few pages of the table", async (_, page) => {
  expect(await readPages({ ...FIRST_PAGE, ...page })).toBeLessThan(60); // ten rows and one more
});
