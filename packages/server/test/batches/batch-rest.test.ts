/** A batch that cannot be processed: its account pauses, others are not affected, and it continues by itself. */
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { directedPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { eventually } from "../support/eventually.ts";

/** How long an account rests after an error, as in start-batches.ts. */
const REST_MS = 5_000;

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly batchId?: string;
}

const logged: LogLine[] = [];
const log = pino({ level: "info" }, { write: (line: string) => void logged.push(JSON.parse(line) as LogLine) });
let server: TestServer;
let directed = "";
beforeAll(async () => {
  server = await startTestServer({ log });
  ({ promptVersionId: directed } = await server.publish(directedPrompt()));
  // An unexpected error: creating a run fails for some accounts. A sequence also counts what is rolled back.
  await server.app.db.query(`
    create table broken_accounts (account_id uuid primary key);
    create sequence broken_tries;
    create function break_create() returns trigger language plpgsql as $$
    begin
      if exists (select 1 from broken_accounts b where b.account_id = new.account_id) then
        perform nextval('broken_tries');
        raise exception 'nobody knows why';
      end if;
      return new;
    end $$;
    create trigger broken before insert on runs for each row execute function break_create()`);
});
afterAll(() => server.close());

const query = <Row extends object>(text: string, values: unknown[] = []) => server.app.db.query<Row>(text, values);
const breakAccount = ({ accountId }: TestCaller) => query("insert into broken_accounts values ($1)", [accountId]);
const mendAccounts = () => query("delete from broken_accounts");
async function triesSoFar(): Promise<number> {
  const [row] = await query<{ n: number }>(
    "select case when is_called then last_value else 0 end::int as n from broken_tries",
  );
  return row?.n ?? 0;
}
const itemsOf = (count: number, behavior: string) =>
  Array.from({ length: count }, () => ({ inputs: { textInputs: { do: behavior } } }));
const countsOf = async ({ client }: TestCaller, batchId: string) => (await client.batches.get(batchId)).counts;

test("an error is retried after a rest while another account's batch continues, and no item is lost", async () => {
  const [broken, other] = await Promise.all([server.createCaller(), server.createCaller()]);
  await breakAccount(broken);
  const startedMs = performance.now();
  const { batchId } = await broken.client.batches.create({ promptVersionId: directed, items: itemsOf(5, "tokens=1") });
  await eventually(async () => expect(await triesSoFar()).toBe(1));

  // Each end of a run wakes the batch starter, and no wake cuts the rest short.
  const beside = await other.client.batches.create({ promptVersionId: directed, items: itemsOf(30, "tokens=1") });
  await other.client.batches.wait(beside.batchId, { pollMs: 50 });
  const restsOver = Math.floor((performance.now() - startedMs) / REST_MS);
  expect(await triesSoFar()).toBeLessThanOrEqual(1 + restsOver);
  expect(await broken.client.batches.get(batchId)).toMatchObject({ batchStatus: "running", pause: null });
  expect(await countsOf(broken, batchId)).toMatchObject({ notStarted: 5 });

  await eventually(async () => expect(await triesSoFar()).toBeGreaterThan(1));
  await mendAccounts();
  const finished = await broken.client.batches.wait(batchId, { pollMs: 50 });
  expect(finished.counts).toMatchObject({ total: 5, succeeded: 5 });
  expect(performance.now() - startedMs).toBeGreaterThan(REST_MS);
  // However often it failed, the log has one line for the start of it and one for the end.
  expect(logged.filter((line) => line.batchId === batchId).map(({ level, msg }) => `${level} ${msg}`)).toEqual([
    "40 a batch cannot be processed; retrying",
    "30 the batch can be processed again",
  ]);
  const [counted] = await query<object>(
    `select (select count(*)::int from runs where account_id = $1) as runs,
       (select count(*)::int from credit_holds where account_id = $1 and state = 'held') as held`,
    [broken.accountId],
  );
  expect(counted).toEqual({ runs: 5, held: 0 });
  expect((await server.checkLedger()).mismatches).toEqual([]);
});

test("a batch of a resting account is canceled at once, with its unfinished runs", async () => {
  const caller = await server.createCaller({ credits: 500 });
  const created = await caller.client.batches.create({
    promptVersionId: directed,
    items: itemsOf(40, "delay=600000"),
  });
  await eventually(async () => expect((await countsOf(caller, created.batchId)).running).toBe(25));
  const before = await triesSoFar();
  await breakAccount(caller);
  const { rows } = await caller.client.runs.list({ limit: 1 });
  await caller.client.runs.cancel(rows[0]?.runId ?? ""); // makes room, and the next start fails
  await eventually(async () => expect(await triesSoFar()).toBeGreaterThan(before));
  await caller.client.batches.cancel(created.batchId);
  await eventually(async () => {
    const batch = await caller.client.batches.get(created.batchId);
    expect(batch).toMatchObject({ batchStatus: "canceled", counts: { queued: 0, running: 0, canceled: 25 } });
    expect(batch.finishedAt).not.toBeNull();
  });
  expect(await caller.client.me.credits()).toEqual({ credits: 500 });
  await mendAccounts();
});

test("a pass whose query was answered late starts no more items than there is room for", async () => {
  const caller = await server.createCaller({ credits: 500 });
  await query("insert into run_limits (scope, max_running) values ('account:' || $1, 8)", [caller.accountId]);
  await query(`create function slow_create() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.15); return new; end $$;
    create trigger slow before insert on runs for each row execute function slow_create()`);
  const { db } = server.app;
  const send = db.query.bind(db);
  let looks = 0;
  const late = vi.spyOn(db, "query").mockImplementation(async (statement, values) => {
    const rows = await send(statement, values);
    if (typeof statement !== "string" && statement.name === "batches_open") {
      looks += 1;
      await delay(900); // longer than four slow starts take
    }
    return rows;
  });
  onTestFinished(async () => {
    late.mockRestore();
    await query("drop function slow_create cascade");
  });
  const items = itemsOf(40, "delay=600000");
  const { batchId } = await caller.client.batches.create({ promptVersionId: directed, items });
  await eventually(async () => expect((await countsOf(caller, batchId)).running).toBe(4));
  const before = looks;
  await eventually(() => expect(looks).toBe(before + 3));
  expect(await countsOf(caller, batchId)).toMatchObject({ queued: 0, running: 4 });
  await caller.client.batches.cancel(batchId);
});
