/** Creates that arrive together are written together, and each gets the response it would get alone. */
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { createApiKey } from "../../src/accounts/index.ts";
import { grantCredits } from "../../src/credits/index.ts";
import { setAuthorShare } from "../../src/prompts/index.ts";
import { AccountLockQueue } from "../../src/runs/create/account-lock-queue.ts";
import { createRunCreates, type RunCreates } from "../../src/runs/create/create-group.ts";
import { createRunRows, type CreateOutcome } from "../../src/runs/create/create-store.ts";
import { LEASE_MS, openEngine, type Engine, type RunWish } from "./engine-fixture.ts";

let engine: Engine;
let creates: RunCreates;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

const times = (n: number, wish: RunWish = {}) => Array.from({ length: n }, () => wish);

/** Creates all in one iteration of the event loop. @returns also how many statements it took. */
async function createTogether(accountId: string | readonly string[], wishes: readonly RunWish[]) {
  const accountIds = [accountId].flat();
  let statements = 0;
  const once: typeof engine.db.once = (...asked) => {
    statements += 1;
    return engine.db.once(...asked);
  };
  creates = createRunCreates({ db: { ...engine.db, once }, accountLocks: new AccountLockQueue() });
  const runs = wishes.map((wish, i) => engine.runToCreate(accountIds[i % accountIds.length] ?? "", wish));
  const outcomes = await Promise.all(runs.map((run) => creates.create(run)));
  return { runs, outcomes, statements };
}

const kindsOf = (outcomes: readonly CreateOutcome[]) => outcomes.map(({ kind }) => kind);

test("creates of one account that arrive together take one statement, and each has its run", async () => {
  const account = await engine.createAccount(1_000);
  await engine.createRun(account, { hold: 3 });
  const { runs, outcomes, statements } = await createTogether(account, times(20, { hold: 3 }));
  expect(statements).toBe(1);
  expect(outcomes).toEqual(runs.map(({ runId }) => ({ kind: "created", runId })));
  const own = "{id,request_id,created_at,deadline_at,run_at}";
  const stored = await engine.db.query("select to_jsonb(r) - $1::text[] as row from runs r order by id", [own]);
  expect(stored).toHaveLength(21);
  for (const row of stored) expect(row).toEqual(stored[0]); // the first one was written alone
  expect(await engine.audit()).toEqual([]);
});

test("the last credits, the last free slot, and a key are granted once within one statement", async () => {
  const poor = await engine.createAccount(5);
  const spent = await createTogether(poor, times(4, { hold: 2 }));
  expect(kindsOf(spent.outcomes)).toEqual(["created", "created", "no_credits", "no_credits"]);
  const full = await engine.createAccount();
  const placed = await createTogether(full, times(4, { activeRunsMax: 2 }));
  expect(kindsOf(placed.outcomes)).toEqual(["created", "created", "too_many_active", "too_many_active"]);
  const keyed = await engine.createAccount();
  const joined = await createTogether(keyed, [{}, { key: "k" }, { key: "k" }, { key: "k", body: "another" }]);
  expect(kindsOf(joined.outcomes)).toEqual(["created", "created", "joined", "key_conflict"]);
  expect(await engine.audit()).toEqual([]);
});

test("a run on outdated terms leaves nothing behind, and the other runs of its statement are created", async () => {
  const account = await engine.createAccount(100);
  const [{ prompt_id: prompt } = { prompt_id: "" }] = await engine.db.query<{ prompt_id: string }>(
    "select prompt_id from prompt_versions where id = $1",
    [engine.runToCreate(account).promptVersionId],
  );
  onTestFinished(async () => {
    await setAuthorShare(engine.db, prompt, null);
  });
  const on = (authorShare: number | null) => ({ ...engine.runToCreate(account, { hold: 1 }), terms: { authorShare } });
  const create = async () =>
    kindsOf(await createRunRows(engine.db, [...[null, 0, 30, 31].map(on), engine.runToCreate(account)], null));
  const other = "other_terms";
  expect(await create()).toEqual(["created", other, other, other, "created"]);
  await setAuthorShare(engine.db, prompt, 30);
  expect(await create()).toEqual([other, other, "created", other, "created"]);
  await setAuthorShare(engine.db, prompt, 0);
  expect(await create()).toEqual([other, "created", other, other, "created"]);
  expect(await engine.db.query("select count(*)::int as n from credit_holds where account_id = $1", [account])).toEqual(
    [{ n: 3 }],
  );
  expect(await engine.audit()).toEqual([]);
});

test("runs of a statement are judged by their own prompts, and only its author can run a draft", async () => {
  const [author, stranger] = [await engine.createAccount(), await engine.createAccount()];
  const [draft, gone] = [engine.newId(), engine.newId()];
  await engine.db.query(
    `with new as (
       insert into prompts (id, author_id, own_slug, slug, unpublished_at)
         select id, $1, id, id, case when id = $3 then promptd_now() end from unnest(array[$2, $3]::uuid[]) id
     )
     insert into prompt_versions (id, prompt_id, number, title, description, tags, model, modality, definition, config,
         samples, estimated_credits, estimate_basis, published_at)
       select id, id, case when id = $3 then 1 end, 'test', '', '[]', 'sandbox/text', 0, '{}', '{}', '[]', 0, '',
         case when id = $3 then promptd_now() end
       from unnest(array[$2, $3]::uuid[]) id`,
    [author, draft, gone],
  );
  const live = engine.runToCreate(author).promptVersionId;
  const create = async (...asked: readonly [accountId: string, promptVersionId: string][]) => {
    const runs = asked.map(([accountId, promptVersionId]) => ({ ...engine.runToCreate(accountId), promptVersionId }));
    return kindsOf(await createRunRows(engine.db, runs, null));
  };
  expect(await create([author, draft], [author, draft], [author, live], [author, gone])).toEqual([
    "created",
    "created",
    "created",
    "not_found",
  ]);
  expect(await create([author, draft], [stranger, draft], [stranger, live], [stranger, live])).toEqual([
    "created",
    "not_found",
    "created",
    "created",
  ]);
});

test("within one statement no key exceeds its cap, and a refused run uses nothing of it", async () => {
  const account = await engine.createAccount(100);
  const [capped, other] = await Promise.all(
    [10, 100].map((monthlyCap) =>
      createApiKey(engine.db, engine.newId, { name: "test", accountId: account, monthlyCap }),
    ),
  );
  const wishes = [4, 5, 6, 1, 1].map((hold) => ({ hold, keyId: capped?.keyId ?? "" }));
  const { outcomes, statements } = await createTogether(account, [
    { hold: 7, keyId: other?.keyId ?? "" },
    ...wishes,
    { hold: 20, keyId: other?.keyId ?? "" },
  ]);
  expect(statements).toBe(1);
  expect(kindsOf(outcomes)).toEqual(["created", "created", "created", "capped", "created", "capped", "created"]);
  expect(outcomes[3]).toMatchObject({ left: 1 });
  const used = await engine.db.query(
    "select budget_id as key, used::int from credit_budgets where account_id = $1 order by used",
    [account],
  );
  expect(used).toEqual([
    { key: capped?.keyId, used: 10 },
    { key: other?.keyId, used: 27 },
  ]);
  expect(await engine.audit()).toEqual([]);
});

test("earnings are collected for a run of a statement whose earlier runs used up the rest", async () => {
  const [author, payer] = [await engine.createAccount(5), await engine.createAccount(100)];
  await engine.createRun(payer, { hold: 10, author: { accountId: author, sharePercent: 40 } });
  const worker = await engine.registerWorker();
  await engine.finish(worker, await engine.claim(worker), { credits: 10 });
  const { outcomes, statements } = await createTogether(author, times(5, { hold: 2 }));
  expect(statements).toBe(1);
  expect(kindsOf(outcomes)).toEqual([...Array(4).fill("created"), "no_credits"]);
  expect(outcomes[4]).toEqual({ kind: "no_credits", available: 1 });
  expect(await engine.audit()).toEqual([]);
});

test("expired credits pay for no run of a statement, but still back earlier runs", async () => {
  const account = await engine.createAccount(4);
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  await grantCredits(engine.db, { accountId: account, amount: 6, reason: null, idempotencyKey: "soon", expiresAt });
  await engine.createRun(account, { hold: 3 });
  await engine.shiftClock(61);
  const { outcomes } = await createTogether(account, times(4, { hold: 2 }));
  expect(kindsOf(outcomes)).toEqual(["created", "created", "no_credits", "no_credits"]);
  expect(await engine.audit()).toEqual([]);
});

test("runs of a statement count under the limits of their account and their model", async () => {
  const accounts = (await createAccounts(3)).toSorted();
  await engine.db.query(
    "insert into run_limits values ('account', 2), ('model:sandbox/text', 3), ('model:sandbox/free', 1)",
  );
  const [text, free] = ["sandbox/text", "sandbox/free"];
  const models = [text, text, text, free, text, text, text, free];
  const runs = models.map((model, nth) =>
    engine.runToCreate(accounts[Math.floor(nth / 3)] ?? "", { model: model ?? "" }),
  );
  const claim = { workerId: await engine.registerWorker(), leaseMs: LEASE_MS, runsMax: runs.length };
  const outcomes = await createRunRows(engine.db, runs, claim);
  expect(kindsOf(outcomes)).toEqual(
    [true, true, false, true, true, false, false, false].map((begins) => (begins ? "claimed" : "created")),
  );
  expect(await engine.claim(claim.workerId)).toEqual([]);
});

test("a large run is sent alone, and no statement carries more than 32 runs", async () => {
  const account = await engine.createAccount();
  const { outcomes, statements } = await createTogether(account, times(66));
  expect(new Set(kindsOf(outcomes))).toEqual(new Set(["created"]));
  expect(statements).toBe(3); // 32, 32 and 2
  const large = await createTogether(account, [{}, {}, { inputs: { text: "x".repeat(300_000) } }, {}]);
  expect(large.statements).toBe(3);
});

test("a run that the database refuses fails alone", async () => {
  await engine.db.query(`create function refuse_run() returns trigger language plpgsql as
      $$ begin if new.run_options ->> 'x' is not null then raise 'refused' using errcode = 'P0001'; end if; return new; end $$;
    create trigger refuse_run before insert on runs for each row execute function refuse_run()`);
  onTestFinished(async () => {
    await engine.db.query("drop function refuse_run cascade");
  });
  const account = await engine.createAccount(100);
  creates = createRunCreates({ db: engine.db, accountLocks: new AccountLockQueue() });
  const runs = [0, 1, 2, 3].map((i) => ({
    ...engine.runToCreate(account, { hold: 5 }),
    runOptions: i === 2 ? { x: "y" } : {},
  }));
  const settled = await Promise.allSettled(runs.map((run) => creates.create(run)));
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(await engine.audit()).toEqual([]);
});

test("creates of several accounts share a statement, and each pays for its own", async () => {
  const accounts = [await engine.createAccount(100), await engine.createAccount(2), await engine.createAccount(100)];
  const { outcomes, statements } = await createTogether(accounts, times(12, { hold: 2 }));
  expect(statements).toBe(1);
  const outcomesOfPoorAccount = kindsOf(outcomes).filter((_, i) => i % 3 === 1);
  expect(outcomesOfPoorAccount).toEqual(["created", "no_credits", "no_credits", "no_credits"]);
  expect(kindsOf(outcomes).filter((_, i) => i % 3 !== 1)).toEqual(Array(8).fill("created"));
  const held = await engine.db.query<{ account_id: string; runs: string }>(
    "select account_id, count(*) as runs from credit_holds where account_id = any ($1) group by account_id",
    [accounts],
  );
  expect(new Map(held.map((row) => [row.account_id, Number(row.runs)]))).toEqual(
    new Map(accounts.map((id, i) => [id, i === 1 ? 1 : 4])),
  );
  expect(await engine.audit()).toEqual([]);
});

test("a locked account delays no other account of its statement", async () => {
  const [first, locked, other] = await createAccounts(3);
  creates = createRunCreates({ db: engine.db, accountLocks: new AccountLockQueue() });
  const create = (accountId = "") => creates.create(engine.runToCreate(accountId, { hold: 1 }));
  const { isLocked, unlock } = lockAccount(locked ?? "");
  await isLocked;
  const alone = create(first);
  const waits = create(locked);
  const beside = [create(other), create(other)];
  expect(kindsOf(await Promise.all([alone, ...beside]))).toEqual(Array(3).fill("created"));
  unlock();
  expect((await waits).kind).toBe("created");
  expect(await engine.audit()).toEqual([]);
});

test("a statement whose response is lost creates each of its runs once", async () => {
  const accounts = await createAccounts(3);
  let sent = 0;
  const once: typeof engine.db.once = async (...asked) => {
    const nth = (sent += 1);
    const rows = await engine.db.once(...asked);
    if (nth === 1) throw new Error("Connection terminated unexpectedly");
    return rows as never;
  };
  creates = createRunCreates({ db: { ...engine.db, once }, accountLocks: new AccountLockQueue() });
  const runs = Array.from({ length: 9 }, (_, i) => engine.runToCreate(accounts[i % 3] ?? "", { hold: 1 }));
  const outcomes = await Promise.all(runs.map((run) => creates.create(run)));
  expect(outcomes).toEqual(runs.map(({ runId }) => ({ kind: "created", runId })));
  expect(
    await engine.db.query("select count(*)::int as runs from runs where account_id = any ($1)", [accounts]),
  ).toEqual([{ runs: 9 }]);
  expect(await engine.audit()).toEqual([]);
});

const createAccounts = (n: number) => Promise.all(Array.from({ length: n }, () => engine.createAccount(9)));

/** Keeps the account's balance locked from a separate transaction until `unlock`. */
function lockAccount(accountId: string) {
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ended = engine.db.tx(async (tx) => {
    await tx.query("select 1 from credit_accounts where account_id = $1 for update", [accountId]);
    locked.resolve();
    await unlocked.promise;
  });
  onTestFinished(() => ended);
  return { isLocked: locked.promise, unlock: unlocked.resolve };
}
