/**
 * The 8 kB database pages read for one API page of 50 runs, in an account with many runs: the newest, a middle page, the
 * oldest, backwards, and the few that failed. After VACUUM ANALYZE, and again after updating a tenth of the runs. Page
 * counts are the same on any machine. Times are medians, compared with `select 1`.
 */
import { Client } from "pg";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import { listRunRows, type RunPage } from "../../packages/server/src/runs/runs-store.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";
import { pagesReadBy } from "../harness/pages-read-by.ts";
import { spreadOf } from "../harness/spread.ts";

const NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const OLDEST = "00000000-0000-0000-0000-000000000000";
const ROWS = 50;
const BYTES_MAX = 16 * 2 ** 20;
const TIMES = 200;

export const runList = defineCase({
  sizes: { runs: [1_000_000, 20_000] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes)),
});

async function measure(server: ChaosDatabase, { runs }: Bench<"runs">["sizes"]) {
  const fixture = await openInstallationFixture(server.url);
  const { db, prompts } = fixture;
  // Not promptd's own connection, whose statements have timeouts.
  const connection = new Client({ connectionString: server.url });
  await connection.connect();
  const results = [];
  for (const count of [Math.round(runs / 10), runs]) {
    const { accountId } = await fixture.createCaller();
    await connection.query(ADD_RUNS, [accountId, count, prompts.free]);
    await connection.query("vacuum analyze runs");
    const pages = await pagesOf(db, accountId);
    const fresh = await readEach(db, accountId, pages);
    await connection.query(UPDATE_A_TENTH, [accountId]);
    const updated = await readEach(db, accountId, pages);
    results.push({ runs: count, pages: fresh.map((one, i) => ({ ...one, buffersUpdated: updated[i]?.buffers })) });
  }
  const selectOneMs = spreadOf(await timesOf(() => db.query("select 1")));
  await connection.end();
  await fixture.close();
  return { rows: ROWS, results, selectOneMs };
}

/** Years of runs, five minutes apart, one in a hundred of which failed. Scattered over the table, as if among others' runs. */
const ADD_RUNS = `
  insert into runs (account_id, id, prompt_version_id, run_name, model, status, deadline_at, created_at,
    started_at, finished_at, prices, inputs, outputs, fail_reason)
  select $1::uuid, (prefix || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid, $3::uuid,
    'A tea house', 'sandbox/text-free', case when n % 100 = 0 then 'failed' else 'succeeded' end, at, at, at,
    at + interval '2 seconds', '{}'::json, '{"textInputs":{"ask":"What is a tea house?"},"images":[]}'::json,
    case when n % 100 = 0 then '[{"type":"error","data":"The provider did not answer in time."}]'
      else '[{"type":"text","data":"A house in which tea is made, poured and drunk, mostly by people who have time."}]' end::json,
    case when n % 100 = 0 then 'provider_error' end
  from generate_series(1, $2::int) n,
    lateral (select now() - n * interval '5 minutes' as at) t,
    lateral (select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as prefix) p
  order by md5(n::text)`;

/** Spread over all pages of the table, like updates at the end of runs. */
const UPDATE_A_TENTH = `update runs set run_name = run_name where account_id = $1 and get_byte(uuid_send(id), 15) < 26`;

interface NamedPage {
  readonly name: string;
  readonly page: RunPage;
}

async function pagesOf(db: Database, accountId: string): Promise<NamedPage[]> {
  const [row] = await db.query<{ id: string }>(
    "select id from runs where account_id = $1 order by id offset (select count(*) / 2 from runs where account_id = $1) limit 1",
    [accountId],
  );
  const middle = row?.id ?? NEWEST;
  const page: RunPage = { before: NEWEST, from: OLDEST, after: null, status: null, rowsMax: ROWS, bytesMax: BYTES_MAX };
  return [
    { name: "newest", page },
    { name: "in the middle", page: { ...page, before: middle } },
    { name: "backwards", page: { ...page, after: middle } },
    { name: "oldest", page: { ...page, after: OLDEST } },
    { name: "failed", page: { ...page, status: "failed" } },
    { name: "failed, in the middle", page: { ...page, status: "failed", before: middle } },
  ];
}

async function readEach(db: Database, accountId: string, pages: readonly NamedPage[]) {
  const results = [];
  for (const { name, page } of pages) {
    await listRunRows(db, accountId, page); // in memory
    const ms = spreadOf(await timesOf(() => listRunRows(db, accountId, page)));
    const buffers = await pagesReadBy(db, (explaining) => listRunRows(explaining, accountId, page));
    results.push({ name, buffers, ms });
  }
  return results;
}

async function timesOf(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < TIMES; i += 1) {
    const startedMs = performance.now();
    await work();
    times.push(performance.now() - startedMs);
  }
  return times;
}
