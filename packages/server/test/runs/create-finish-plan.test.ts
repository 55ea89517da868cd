/** Creating and ending a run cost the same whatever their session planned them for, such as the empty tables of a first start. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Queryable } from "../../src/platform/database/database.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";
import { createRunRows, type RunToCreate } from "../../src/runs/create/create-store.ts";
import { countPages } from "../support/count-pages.ts";
import { openSession } from "./open-session.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

interface Pages {
  readonly create: number;
  readonly finish: number;
}

/** The number of 8 kB pages that a paid run reads and writes, with everything it holds, captures, and returns. */
async function readPages(db: Queryable): Promise<Pages> {
  const accountId = await engine.createAccount(100);
  const create = await countPagesOfCreate(db, engine.runToCreate(accountId, { hold: 10 }));
  const [run] = await engine.claim(await engine.registerWorker());
  const finish = await countPages(
    db,
    `select * from run_finish($1, array[$2::uuid], array[$3::uuid], '{1}', '{true}', '{7}', array['[]'::json], '{null}')`,
    [run?.workerId, accountId, run?.runId],
  );
  expect(await engine.stateOf(run?.runId ?? "")).toMatchObject({ status: "succeeded", credits: 7 });
  return { create, finish };
}

/** The fewest pages of three runs: after changes elsewhere on the server, a session reads its catalog again, some 2,000 pages. */
async function readFewestPages(db: Queryable): Promise<Pages> {
  const all = [await readPages(db), await readPages(db), await readPages(db)];
  return {
    create: Math.min(...all.map(({ create }) => create)),
    finish: Math.min(...all.map(({ finish }) => finish)),
  };
}

async function countPagesOfCreate(db: Queryable, run: RunToCreate): Promise<number> {
  let pages = 0;
  const counting: Queryable = {
    query: async (statement, values = []) => {
      pages = await countPages(db, typeof statement === "string" ? statement : statement.text, values);
      return [];
    },
  };
  await expect(createRunRows(counting, [run], null)).rejects.toThrow("did not return a row");
  return pages;
}

/** For other accounts: running and ended runs, with everything that belongs to them. */
async function fill(runs: number): Promise<void> {
  const statements = [
    `insert into runs (account_id, id, prompt_version_id, run_name, model, deadline_at, created_at, prices, inputs, hold,
         credits, status, worker)
       select md5(n::text)::uuid, md5(n::text)::uuid, prompt_version_id, run_name, model, deadline_at, created_at, prices,
         inputs, 10, 0, 'running', md5('worker')::uuid
       from (select * from runs limit 1) r, generate_series(1, $1) n`,
    "insert into credit_holds (account_id, run_id, amount) select md5(n::text)::uuid, md5(n::text)::uuid, 10 from generate_series(1, $1) n",
    "insert into credit_accounts (account_id, posted, held) select md5(n::text)::uuid, 100, 10 from generate_series(1, $1) n",
    "insert into credit_grants (account_id, remaining, expires_at) select md5(n::text)::uuid, 10, promptd_now() from generate_series(1, $1) n",
    "insert into credit_expired_backing (account_id, run_id, amount) select md5(n::text)::uuid, md5(n::text)::uuid, 10 from generate_series(1, $1) n",
    "insert into credit_budgets (account_id, budget_id, month, used) select md5(n::text)::uuid, md5(n::text)::uuid, current_date, 10 from generate_series(1, $1) n",
    "insert into run_steps (account_id, run_id, step, item, result) select md5(n::text)::uuid, md5(n::text)::uuid, 0, 0, '{}' from generate_series(1, $1) n",
  ];
  for (const statement of statements) await engine.db.query(statement, [runs]);
}

test("a plan made for empty tables reads few pages of full tables", async () => {
  const session = await openSession(engine.url);
  await readPages(session); // plans
  const before = await readFewestPages(session);
  const fewer = (pages: number) => expect.toSatisfy((read: number) => read < 2 * pages + 100);
  const few = { create: fewer(before.create), finish: fewer(before.finish) };
  await fill(20_000);
  expect(await readFewestPages(session)).toEqual(few);
  await engine.db.query("analyze"); // the next run plans anew
  expect(await readFewestPages(session)).toEqual(few);
});
