/** A create whose connection is lost while its commit is still in progress: its caller learns what really happened. */
import { expect, onTestFinished, test, vi } from "vitest";
import { openDatabase, type Database, type Tx } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { startTestServer } from "../support/test-server.ts";
import { PNG_BASE64, promptFile } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { bodyOf, postRun } from "../wire/requests.ts";

/** A commit that takes as long as the test holds a lock, as on a busy disk. */
const LOCK = 4_711;
const SLOW_COMMIT = `create function slow_commit() returns trigger language plpgsql set lock_timeout = 0
    as $$ begin perform pg_advisory_xact_lock(${LOCK}); return null; end $$;
  create constraint trigger slow_commit after insert on runs
    deferrable initially deferred for each row execute function slow_commit()`;
/** The commit that waits for the test, and the repeated one, which waits for the commit. */
const WAITING = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";

/** A server whose connection to its database can be cut, and a separate connection for the test that stays. */
async function startBehindProxy(environment: Readonly<Record<string, string>>) {
  const database = await createTestDatabase();
  const proxy = await startTcpProxy(database.url);
  const server = await startTestServer({
    environment: { PROMPTD_SECRET: "the same for all processes of a test", DATABASE_URL: proxy.url, ...environment },
  });
  const direct = await openDatabase({ url: database.url, role: "test", log: createLog("silent"), poolMax: 2 });
  onTestFinished(async () => {
    await direct.close();
    await server.close();
    await proxy.close();
    await database.drop();
  });
  return { server, direct, cut: () => proxy.cut() };
}

/** Sends a create, and holds its commit until `act` is done. */
async function whileCommitWaits<Created>(
  direct: Database,
  create: () => Promise<Created>,
  act: (created: Promise<Created>) => Promise<void>,
): Promise<Created> {
  await direct.query(SLOW_COMMIT);
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hold = async (tx: Tx) => {
    await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
    locked.resolve();
    await unlocked.promise;
  };
  const holder = direct.tx(hold, { statementTimeoutMs: 0 });
  await locked.promise;
  const created = create();
  created.catch(() => {});
  await until(async () => (await direct.query(WAITING)).length === 1);
  await act(created).finally(() => unlocked.resolve());
  await holder;
  return created;
}

/** Waits for the one run of a test. */
const runEnded = (direct: Database) =>
  until(async () => (await direct.query("select 1 from runs where finished_at is not null")).length === 1);

test.each<[string, number, Record<string, string>]>([
  ["the last credits", 2, {}],
  ["the last free slot", 100, { PROMPTD_ACTIVE_RUNS_MAX: "1" }],
])("a create for %s without a key returns its run, not a refusal", async (_name, credits, environment) => {
  const { server, direct, cut } = await startBehindProxy(environment);
  const { promptVersionId } = await server.publish(promptFile());
  const { client } = await server.createCaller({ credits });
  const create = () => client.runs.create(bodyOf(promptVersionId), { idempotencyKey: null, respondAsync: true });
  const { runId } = await whileCommitWaits(direct, create, async (created) => {
    const settled = vi.fn<() => void>();
    created.then(settled, settled);
    cut();
    await until(async () => settled.mock.calls.length > 0 || (await direct.query(WAITING)).length === 2);
  });
  await runEnded(direct);
  expect(await direct.query("select id, status, credits from runs")).toEqual([
    { id: runId, status: "succeeded", credits: 1 },
  ]);
});

test("a create whose outcome stays unknown leaves its image to the run that may exist", async () => {
  const { server, direct, cut } = await startBehindProxy({});
  const { promptVersionId } = await server.publish(
    promptFile({ fields: "images: [{ label: Photo }]", body: "Describe the photo." }),
  );
  const { client } = await server.createCaller();
  const body = { promptVersionId, inputs: { imageInputs: [{ type: "base64", base64: PNG_BASE64 }] } };
  const answer = await whileCommitWaits(
    direct,
    () => postRun(client, body),
    async (created) => {
      await direct.query("alter function run_create_on_terms rename to run_create_away"); // nobody can find out what became of it
      cut();
      expect((await created).headers.get("x-should-retry")).toBe("false");
    },
  );
  expect(answer.httpStatus).toBe(500);
  await runEnded(direct);
  const [run] = await direct.query<{ outputs: { data: string }[] }>("select outputs from runs");
  expect(run?.outputs[0]?.data).toContain("images: 1\npng, 1 x 1, ");
});

test("a create that repeatedly lost its connection is sent once more", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { promptVersionId } = await server.publish(promptFile());
  const { client } = await server.createCaller();
  await server.app.db.query(`create sequence sendings;
    alter function run_create_on_terms rename to run_create_itself;
    create function run_create_on_terms(uuid[], uuid[], bigint[], uuid[], text[], text[], bigint[], json[], json[], json[], int[],
      int[], text[], bytea[], uuid[], uuid[], uuid, int, interval, int, text[], text[], text[], int[])
    returns table (outcome text, run_id uuid, available bigint, at timestamptz) language plpgsql as $$
    declare nth bigint := nextval('sendings');
    begin
      if nth <= 4 then raise 'gone' using errcode = '08006'; end if;
      return query select * from run_create_itself($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
        $18, $19, $20, $21, $22, $23, $24);
    end $$`);
  const answer = await postRun(client, bodyOf(promptVersionId), { "idempotency-key": "k" });
  expect(answer.httpStatus).toBe(200);
  expect(await server.app.db.query("select last_value::int as n from sendings")).toEqual([{ n: 5 }]);
});
