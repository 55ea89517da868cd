/**
 * Every kind of broken guarantee, made by hand in a copy of what a short run with a kill left: the check must name it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../packages/server/src/platform/database/database.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import { killLeftovers, until } from "../../packages/server/test/support/promptd-process.ts";
import { createTestDatabase, type TestDatabase } from "../../packages/server/test/support/test-database.ts";
import { checkHistory, type History } from "./check-history.ts";
import { startLoad } from "./load.ts";
import { beginTrace, type Kill } from "./trace.ts";

/** Only bounds for a failing test. */
const PATIENCE_MS = 120_000;
const HOOK_MS = 400_000;
const KEYLESS = "not exists (select 1 from idempotency_keys k where k.account_id = r.account_id and k.run_id = r.id)";
/** The events after the worker's death, compressed until they fit into two seconds. */
const QUICKEN = `
  with slow as (select d.at as death, extract(epoch from max(r.at) - d.at) as seconds from chaos_runs r, death d group by 1)
  update chaos_runs set at = death + (at - death) * least(1, 2 / seconds) from slow where at > death`;

let database: TestDatabase;
let history: History;

beforeAll(async () => {
  database = await createTestDatabase();
  const fixture = await openInstallationFixture(database.url, { PROMPTD_AUTHOR_SHARE: "37" });
  await beginTrace(fixture.db);
  const [api, doomed] = [await fixture.start("api"), await fixture.start("worker")];
  const load = await startLoad(fixture, { accounts: 3, apiUrls: () => [api.url], seed: 1 });
  const exists = async (condition: string) => (await fixture.db.query(`select 1 from ${condition} limit 1`)).length > 0;
  const isSeen = (condition: string) => until(() => exists(condition), PATIENCE_MS);
  await isSeen("runs where status = 'succeeded' and credits > 0");
  await isSeen("runs where status = 'succeeded' and credits is null");
  await isSeen("runs where status = 'failed'");
  await isSeen(`runs r where status = 'succeeded' and ${KEYLESS}`);
  await until(async () => {
    doomed.signal("SIGSTOP"); // it keeps the runs that it holds
    await until(
      async () =>
        !(await exists(`pg_stat_activity where state = 'active' and application_name like '%:${doomed.pid}'`)),
    );
    if (await exists("runs where worker is not null")) return true;
    doomed.signal("SIGCONT");
    return false;
  }, PATIENCE_MS);
  await fixture.db.query("create table death as select clock_timestamp() as at");
  const kill: Kill = { pid: doomed.pid, atMs: Date.now() };
  await doomed.kill();
  const heir = await fixture.start("worker");
  await isSeen("runs where attempt > 1 and status = 'succeeded' and credits > 0");
  const reports = await load.stop();
  await until(async () => !(await exists("runs where finished_at is null")), PATIENCE_MS);
  // However long the successor took to start here: the judged history is one in which everything was fast.
  await fixture.db.query(QUICKEN);
  const none = { outages: [], slowdowns: [], leaseMs: 600, mishaps: [] };
  history = { reports, accounts: load.accounts, readBack: await load.readBack(), kills: [kill], ...none };
  await Promise.all([api.stop(), heir.stop()]);
  await fixture.close();
}, HOOK_MS);

afterAll(async () => {
  await killLeftovers();
  await database.drop();
});

/** What the check reports after these statements, in a copy of the database. */
async function violationsAfter(statements: readonly string[], seen: History = history): Promise<readonly string[]> {
  return (await checkAfter(statements, seen)).violations;
}

async function checkAfter(statements: readonly string[], seen: History = history) {
  const copy = await createTestDatabase(database);
  const db = await openDatabase({ url: copy.url, role: "test", log: createLog("error", "stderr") });
  try {
    for (const statement of statements) await db.query(statement);
    return await checkHistory(db, seen);
  } finally {
    await db.close();
    await copy.drop();
  }
}

const UNGUARDED = ["alter table credit_transfers disable trigger append_only", "drop index credit_transfers_run"];
const SOME_PAID = "(select id from runs where status = 'succeeded' and credits > 0 order by id limit 1)";
const SOME_FREE = "(select id from runs where status = 'succeeded' and credits is null order by id limit 1)";
const SOME_FAILED = "(select id from runs where status = 'failed' and hold is not null order by id limit 1)";
const KEYLESS_RUNS = `select id from runs r where ${KEYLESS} order by id`;
const SOME_KEYLESS = `(${KEYLESS_RUNS} limit 1)`;
const OTHER_KEYLESS = `(${KEYLESS_RUNS} offset 1 limit 1)`;

const LATE = "update chaos_runs set at = at + interval '20 s' where at > (select at from death)";

const IN_THE_DATABASE: Record<string, { readonly seed: readonly string[]; readonly found: RegExp }> = {
  "an acknowledged run that is gone": { seed: [`delete from runs where id = ${SOME_PAID}`], found: /^lost: / },
  "a run that moved to another account": {
    seed: [`update runs set account_id = gen_random_uuid() where id = ${SOME_FREE}`],
    found: /^of another account: /,
  },
  "a run that never ended": {
    seed: [`update runs set status = 'running', finished_at = null where id = ${SOME_FREE}`],
    found: /^not ended: /,
  },
  "a run that nobody asked for": {
    seed: [`delete from idempotency_keys where run_id = ${SOME_FREE}`],
    found: /^a run nobody asked for: /,
  },
  "a run of a request without a key that nobody sent": {
    seed: [`update runs r set inputs = '{"textInputs":{"ask":"Request nobody"}}' where id = ${SOME_KEYLESS}`],
    found: /^a run nobody asked for: /,
  },
  "two runs of one request without a key": {
    seed: [
      `update runs r set inputs = (select inputs from runs where id = ${SOME_KEYLESS}) where id = ${OTHER_KEYLESS}`,
    ],
    found: /^several runs of one request: /,
  },
  "a second capture": {
    seed: [
      ...UNGUARDED,
      `insert into credit_transfers (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
       select account_id, kind, debit, credit, amount, run_id, posted_after, held_after from credit_transfers
       where kind = 'capture' and run_id = ${SOME_PAID}`,
    ],
    found: /captured twice/,
  },
  "a hold left": {
    seed: [
      `insert into credit_holds (account_id, run_id, amount) select account_id, id, 1 from runs where id = ${SOME_FREE}`,
    ],
    found: /hold left/,
  },
  "a charge for a failed run": {
    seed: [`update runs set credits = 1 where id = ${SOME_FAILED}`],
    found: /charged though failed/,
  },
  "a paid run that cost nothing": {
    seed: [`update runs set credits = 0 where id = ${SOME_PAID}`],
    found: /paid run that cost nothing/,
  },
  "a balance that its journal does not explain": {
    seed: ["update credit_accounts set posted = posted + 1"],
    found: /"fault":"balance"/,
  },
  "credits made, with journal and balance in agreement": {
    seed: [
      `with made as (update credit_accounts set posted = posted + 5 where posted > 1000 returning *)
       insert into credit_transfers (account_id, kind, debit, credit, amount, idem, posted_after, held_after)
       select account_id, 'grant', 'system:issued', 'user:available', 5, 'made', posted, held from made`,
    ],
    found: /^credits made or lost: /,
  },
  "earnings that no run explains": {
    seed: [
      `insert into credit_earnings (account_id, run_id, author_id, hundredths)
       select account_id, gen_random_uuid(), author_id, 1 from credit_earnings limit 1`,
    ],
    found: /^earnings made or lost: /,
  },
  "a run that counts twice as used": {
    seed: [
      `insert into usage_events (account_id, run_id, prompt_version_id, model, is_ok, credits, ended_at)
       select account_id, id, prompt_version_id, model, true, 1, now() from runs where id = ${SOME_PAID}`,
    ],
    found: /^usage is /,
  },
  "a cap that was passed for a moment": {
    seed: [
      `update credit_budgets b set used = 301 from api_keys k where k.id = b.budget_id and k.monthly_cap = 300`,
      `update credit_budgets b set used = (select coalesce(sum(captured), 0) from credit_holds h where h.budget_id = b.budget_id)`,
    ],
    found: /^a cap was passed: /,
  },
  "an output that is gone": {
    seed: [`update runs set outputs = '[]' where id = ${SOME_PAID}`],
    found: /succeeded without output/,
  },
  "an item sent a fourth time": {
    seed: [
      "alter table provider_calls drop constraint provider_calls_call_number_check",
      `insert into provider_calls (run_id, step, item, call_number, account_id, attempt, model, provider, provider_model)
       select run_id, step, item, n, account_id, attempt, model, provider, provider_model
       from (select * from provider_calls limit 1) one, generate_series(11, 13) n`,
    ],
    found: /more than three sends of an item/,
  },
  "an attempt above the limit": {
    seed: [`update runs set attempt = max_attempts + 1 where id = ${SOME_FREE}`],
    found: /^more attempts than allowed: /,
  },
  "runs of a dead worker claimed after twenty seconds": {
    seed: [LATE],
    found: /^claimed again too late: p99 2/,
  },
  "runs of a dead worker never claimed again": {
    seed: ["delete from chaos_runs where at > (select at from death)"],
    found: /^never claimed again after its worker died: /,
  },
};

describe("the check of a chaos run", () => {
  test("finds nothing in a history in which every guarantee held", async () => {
    expect(await violationsAfter([])).toEqual([]);
  });

  test.each(Object.entries(IN_THE_DATABASE))("names %s", async (_name, { seed, found }) => {
    expect(await violationsAfter(seed)).toContainEqual(expect.stringMatching(found));
  });

  test("counts what happened to every acknowledged run, failed runs by reason", async () => {
    const lost = "delete from runs where id = (select id from runs where status = 'failed' order by id limit 1)";
    const { acknowledged, acknowledgedEnds } = await checkAfter([
      lost,
      `update runs set fail_reason = 'deadline' where id = ${SOME_FAILED}`,
    ]);
    expect(Object.values(acknowledgedEnds).reduce((total, count) => total + count, 0)).toBe(acknowledged);
    const ends = ["failed: deadline", expect.stringMatching(/^failed: (?!deadline)/), "lost", "succeeded"];
    expect(Object.keys(acknowledgedEnds)).toEqual(expect.arrayContaining(ends));
  });

  test("names an acknowledged run that its account cannot read", async () => {
    const [runId = ""] = history.reports.flatMap((entry) => entry.runIds);
    const readBack = new Map([...history.readBack].filter(([id]) => id !== runId));
    expect(await violationsAfter([], { ...history, readBack })).toEqual([`cannot be read by its account: ${runId}`]);
  });

  test.each([{ outputs: "others" }, { tokens: 99 }, { runStatus: "failed" as const }])(
    "names a run that is read with a different %o than its caller was told",
    async (change) => {
      const seen = history.reports.flatMap((entry) => entry.finals).find((view) => view.runStatus === "succeeded");
      if (seen === undefined) throw new Error("no caller was told of a success");
      const readBack = new Map(history.readBack).set(seen.runId, { ...seen, ...change });
      expect(await violationsAfter([], { ...history, readBack })).toEqual([
        `changed after it was final: ${seen.runId}`,
      ]);
    },
  );

  test("does not count the time during which the database was down against a claim", async () => {
    const outages = history.kills.map(({ atMs }) => ({ fromMs: atMs + 1_000, toMs: atMs + 19_000 }));
    expect(await violationsAfter([LATE], { ...history, outages })).toEqual([]);
  });

  test("does not count time that the machine withheld against a claim", async () => {
    const slowdowns = history.kills.map(({ atMs }) => ({ fromMs: atMs, toMs: atMs + 30_000, factor: 5 }));
    expect(await violationsAfter([LATE], { ...history, slowdowns })).toEqual([]);
  });

  test("names twenty kills that never hit a worker holding a run", async () => {
    const kills = history.kills.flatMap(({ atMs }) => Array.from({ length: 20 }, () => ({ pid: 1, atMs })));
    expect(await violationsAfter([], { ...history, kills })).toEqual([
      expect.stringMatching(/^no worker was killed with a run in hand/),
    ]);
  });

  test("names a run whose caller was refused, with a key or without", async () => {
    for (const hasKey of [true, false]) {
      const seen = history.reports.find((entry) => entry.outcome === "acknowledged" && entry.hasKey === hasKey);
      if (seen === undefined) throw new Error("nothing was acknowledged");
      const refused = { ...seen, runIds: [], finals: [], outcome: "refused" as const, code: "PAYMENT_REQUIRED_ERROR" };
      const reports = [refused, ...history.reports.filter((entry) => entry !== seen)];
      const found = await violationsAfter([], { ...history, reports });
      expect(found).toContainEqual(expect.stringMatching(/^a run whose caller was refused: .* PAYMENT_REQUIRED_ERROR/));
    }
  });

  test("accepts that a caller without a key never learns the outcome, with a run or without", async () => {
    const seen = history.reports.find((entry) => entry.outcome === "acknowledged" && !entry.hasKey);
    if (seen === undefined) throw new Error("nothing was acknowledged without a key");
    const unknown = { ...seen, runIds: [], finals: [], outcome: "unknown" as const };
    const reports = [unknown, { ...unknown, tag: "lost" }, ...history.reports.filter((entry) => entry !== seen)];
    expect(await violationsAfter([], { ...history, reports })).toEqual([]);
  });

  test("names two runs of one request, unspecified responses, refusals without a reason, and missing responses", async () => {
    const rich = history.accounts.filter(({ isShort }) => !isShort).map(({ accountId }) => accountId);
    const [first, second] = history.reports.filter(
      (entry) => entry.runIds.length > 0 && rich.includes(entry.accountId),
    );
    if (first === undefined || second === undefined) throw new Error("no two runs were acknowledged");
    const both = { ...first, runIds: [...first.runIds, ...second.runIds], unspecified: ["503 null"] };
    const others = [
      { ...first, runIds: [], finals: [], tag: "a", outcome: "refused" as const, code: "NOT_FOUND_ERROR" },
      { ...first, runIds: [], finals: [], tag: "b", outcome: "refused" as const, code: "PAYMENT_REQUIRED_ERROR" },
      { ...first, runIds: [], finals: [], tag: "c", hasKey: true, outcome: "unknown" as const, code: null },
    ];
    const reports = [both, ...others, ...history.reports.filter((entry) => entry !== first)];
    const found = await violationsAfter([], { ...history, reports });
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^several runs of one request: /),
        "unspecified answer 503 null",
        "refused without a reason: NOT_FOUND_ERROR, request a",
        "refused without a reason: PAYMENT_REQUIRED_ERROR, request b",
        "never answered: request c",
      ]),
    );
  });
});
