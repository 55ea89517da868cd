/** The deletion of an account: personal data is gone, everything others need stays, and the ledger adds up. */
import { PromptdError } from "@promptd/client";
import type { AccountDeletion, DeletedAccount } from "@promptd/contract/manage";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { beginDeletion, finishDeletions } from "../../src/offboarding/index.ts";
import { createOperator } from "../../src/operator-entry.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createLog } from "../../src/platform/log.ts";
import { pollUntil } from "../../src/platform/resilience/deadline.ts";
import { promptsOfAccount } from "../../src/prompts/index.ts";
import { lockPublishing } from "../../src/prompts/publishing/publish-store.ts";
import { clientOf, createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { IN_THIS_DATABASE } from "../support/test-database.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { codeOf } from "../people/page-requests.ts";

const SLOW =
  "---\npromptd: 1\ntitle: Slow\nmodel: sandbox/text\n---\nsandbox: delay=600000\nSecret words of the author.\n";
const QUICK =
  "---\npromptd: 1\ntitle: Quick\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{% comment %}Hidden template{% endcomment %}{{ ask }}\n";
const PICTURE = "---\npromptd: 1\ntitle: Picture\nmodel: sandbox/image\n---\nA fox\n";
const WAITING = `select from pg_locks where locktype = 'advisory' and not granted and ${IN_THIS_DATABASE}`;

let server: TestServer;
let operator: TestPerson;
let caller: TestCaller;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SIGN_UP_CREDITS: "7" } });
  operator = await createTestPerson(server, { isOperator: true });
  caller = await server.createCaller();
});
afterAll(async () => {
  await server.shiftTime(0);
  await server.close();
});

/** Moves the deletion's minute ahead, and its tick too. */
async function finished(accountId: string): Promise<DeletedAccount> {
  await server.shiftTime(61);
  await server.app.db.query("update cron_ticks set next_at = promptd_now() where name = 'account-deletions'");
  const done = await pollUntil(
    async () => {
      const deletion = await operator.client.send("getAccountDeletion", { params: { accountId } });
      return deletion.finishedAt === null ? null : deletion;
    },
    { everyMs: 50, timeoutMs: 10_000 },
  );
  await server.shiftTime(0);
  if (done === null) throw new Error("The deletion did not finish.");
  return done;
}

const remove = (person: TestPerson, confirm: string, prompts: AccountDeletion["prompts"] = "remove") =>
  person.client.send("deleteAccount", { body: { confirm, prompts } });

test("ends all access at once, and leaves nothing behind except the journal under an id", async () => {
  const email = "ada@example.org";
  const ada = await createTestPerson(server, { email });
  const { accountId } = ada;
  await server.grant(accountId, { amount: 500 });
  await server.app.db.query("update accounts set pro_until = 'infinity', username = 'ada' where id = $1", [accountId]);
  const key = await server.createKey(accountId, { name: "Ada's laptop" });
  const { client: token } = await ada.token(["runs:read"]);
  const picture = await server.publish(PICTURE);
  const slow = await server.publish(SLOW);
  const own = await server.publish(QUICK, { authorId: accountId });
  const ask = { promptVersionId: own.promptVersionId, inputs: { textInputs: { ask: "the words of the caller" } } };
  const bought = await caller.client.runs.create(ask);
  await key.client.runs.create({ promptVersionId: picture.promptVersionId, inputs: {} });
  const active = await key.client.runs.create(
    { promptVersionId: slow.promptVersionId, inputs: {} },
    { respondAsync: true },
  );
  const item = { inputs: { textInputs: { ask: "one of many" } } };
  await key.client.batches.create({ promptVersionId: own.promptVersionId, items: [item, item, item] });
  const [file] = await server.app.db.query<{ id: string }>("select id from files where account_id = $1", [accountId]);
  expect(file).toBeDefined();

  const body = { url: "https://receiver.example.org/of-ada", events: ["run.finished" as const] };
  const { webhookId } = await ada.client.send("createWebhook", { body });
  await ada.client.send("testWebhook", { params: { webhookId } });
  await ada.client.send("setCreditsAlert", { body: { below: 5 } });

  expect(await codeOf(remove(ada, "somebody@example.org"))).toBe("VALIDATION_ERROR");
  expect(await remove(ada, "Ada@example.org")).toMatchObject({ accountId, prompts: "remove", finishedAt: null });
  expect(await codeOf(key.client.me.get())).toBe("UNAUTHORIZED_ERROR");
  expect(await codeOf(token.send("getSession"))).toBe("UNAUTHORIZED_ERROR");
  expect(await codeOf(ada.client.send("getSession"))).toBe("UNAUTHORIZED_ERROR");

  expect(await finished(accountId)).toMatchObject({ accountId });
  const { db } = server.app;
  const counts = await db.query(
    `select (select count(*)::int from runs where account_id = $1) as runs,
       (select count(*)::int from batches where account_id = $1) as batches,
       (select count(*)::int from batch_items where account_id = $1) as items,
       (select count(*)::int from files where account_id = $1) as files,
       (select count(*)::int from auth_users where email = $2) as people,
       (select count(*)::int from credit_holds where account_id = $1 and state = 'held') as held,
       (select count(*)::int from webhooks where account_id = $1) as webhooks,
       (select count(*)::int from webhook_deliveries where account_id = $1) as deliveries,
       (select count(*)::int from webhook_alerts where account_id = $1) as alerts,
       (select posted::int from credit_accounts where account_id = $1) as posted`,
    [accountId, email],
  );
  expect(counts).toEqual([
    { runs: 0, batches: 0, items: 0, files: 0, people: 0, held: 0, webhooks: 0, deliveries: 0, alerts: 0, posted: 0 },
  ]);
  const kinds = await db.query<{ kind: string; run_id: string | null }>(
    "select kind, run_id from credit_transfers where account_id = $1 order by id",
    [accountId],
  );
  expect(kinds).toContainEqual({ kind: "release", run_id: active.runId });
  expect(kinds.at(-1)).toEqual({ kind: "adjust", run_id: null });
  expect((await server.checkLedger()).mismatches).toEqual([]);

  const everything = await everyText(server);
  for (const secret of ["Hidden template", email, "Ada's laptop"]) expect(everything).not.toContain(secret);
  const theirs = await caller.client.runs.get(bought.runId);
  expect(theirs.runStatus).toBe("succeeded");
  const { promptVersionId } = own;
  expect(await codeOf(caller.client.runs.create({ ...ask, promptVersionId }))).toBe("NOT_FOUND_ERROR");
  expect(await codeOf(remove(ada, email))).toBe("UNAUTHORIZED_ERROR");
});

/** All rows of the tables that hold what people write. */
async function everyText({ app: { db } }: TestServer): Promise<string> {
  const tables = ["accounts", "api_keys", "auth_users", "auth_logins", "prompts", "prompt_versions", "prompt_drafts"];
  tables.push("search_docs", "runs", "files", "invitations", "management_tokens", "mails", "idempotency_keys");
  const texts = await Promise.all(
    tables.map(async (table) => JSON.stringify(await db.query(`select row_to_json(t) from ${table} t`))),
  );
  return texts.join("\n");
}

test("keeps prompts published without a name if requested, and nobody earns from them", async () => {
  const bob = await createTestPerson(server, { email: "bob@example.org" });
  const { promptVersionId, slug } = await server.publish(QUICK, { authorId: bob.accountId });
  const voted = await server.publish(PICTURE.replace("Picture", "Voted"));
  const vote = "insert into prompt_votes (prompt_id, account_id) select id, $2 from prompts where id = $1";
  await server.app.db.query(vote, [voted.promptId, bob.accountId]);
  await server.app.db.query("update prompts set up_votes = 3 where id = $1", [voted.promptId]);
  await remove(bob, "bob@example.org", "keep");
  await finished(bob.accountId);
  const prompt = await operator.client.send("getMarketplacePrompt", { params: { slug } });
  expect(prompt.author).toBeNull();
  const votes = await server.app.db.query("select up_votes from prompts where id = $1", [voted.promptId]);
  expect(votes).toEqual([{ up_votes: 2 }]);
  const run = await caller.client.runs.create({ promptVersionId, inputs: { textInputs: { ask: "x" } } });
  expect(run.runStatus).toBe("succeeded");
  expect((await server.checkLedger()).mismatches).toEqual([]);
});

test("removes the samples of kept prompts: they came from runs and pictures that are gone", async () => {
  const ann = await createTestPerson(server, { email: "ann@example.org" });
  const { accountId, client } = ann;
  await server.grant(accountId, { amount: 500 });
  await server.app.db.query("update accounts set pro_until = 'infinity' where id = $1", [accountId]);
  const shownOf = async (slug: string) =>
    (await operator.client.send("getMarketplacePrompt", { params: { slug } })).samples;
  const publishWithSample = async (source: string, textInputs: Record<string, string>) => {
    const { promptId, promptVersionId, slug } = await server.publish(source, { authorId: accountId });
    const ofFile = await shownOf(slug);
    const { runId } = await client.send("createRun", { body: { promptVersionId, inputs: { textInputs } } });
    await client.send("setPromptSample", { params: { promptId }, body: { runId } });
    expect(await shownOf(slug)).not.toEqual(ofFile);
    return { slug, ofFile };
  };
  const picture = await publishWithSample(PICTURE.replace("Picture", "Shown picture"), {});
  const text = await publishWithSample(QUICK.replace("Quick", "Shown text"), { ask: "the words of a run" });
  await remove(ann, "ann@example.org", "keep");
  await finished(accountId);
  for (const { slug, ofFile } of [picture, text]) expect(await shownOf(slug)).toEqual(ofFile);
});

test("leaves the name of a removed prompt taken, and is not blocked by another person's vote", async () => {
  const eve = await createTestPerson(server, { email: "eve@example.org" });
  const { promptId, slug } = await server.publish(QUICK.replace("Quick", "Named"), { authorId: eve.accountId });
  const vote = "insert into prompt_votes (prompt_id, account_id) values ($1, $2)";
  await server.app.db.query(vote, [promptId, caller.accountId]);
  await remove(eve, "eve@example.org");
  await finished(eve.accountId);
  const taken = await server.publish(QUICK.replace("Quick", "Named"), { authorId: caller.accountId });
  expect([slug, taken.slug]).toEqual(["named", "named-2"]);
});

test("waits for another account's run before it removes the template that the run needs", async () => {
  const lin = await createTestPerson(server, { email: "lin@example.org" });
  const { promptVersionId } = await server.publish(SLOW, { authorId: lin.accountId });
  const run = await caller.client.runs.create({ promptVersionId, inputs: {} }, { respondAsync: true });
  await remove(lin, "lin@example.org");
  const templates = () =>
    server.app.db.query("select 1 from prompt_versions where id = $1 and definition::text like '%Secret words%'", [
      promptVersionId,
    ]);
  await server.app.db.query("update cron_ticks set next_at = promptd_now() where name = 'account-deletions'");
  expect(await templates()).toHaveLength(1);
  await caller.client.runs.cancel(run.runId);
  await finished(lin.accountId);
  expect(await templates()).toHaveLength(0);
});

test("continues in several processes at once, which do not disturb each other", async () => {
  const { db } = server.app;
  const leaving = await Promise.all(Array.from({ length: 4 }, () => server.createCaller({ credits: 20 })));
  for (const { accountId } of leaving) {
    await server.publish(QUICK.replace("Quick", `Quick of ${accountId}`), { authorId: accountId });
    await beginDeletion(db, { accountId, prompts: "remove", actorId: null });
  }
  const error = vi.fn();
  const files = { list: async () => [], open: async () => null, removeAll: async () => {} }; // they have none
  const ports = { db, files, log: { ...createLog("silent"), error }, onCanceled: () => {} };
  await Promise.all(Array.from({ length: 4 }, () => finishDeletions(ports)));
  expect(error.mock.calls).toEqual([]);
  const posted = await db.query("select distinct posted::int from credit_accounts where account_id = any($1)", [
    leaving.map(({ accountId }) => accountId),
  ]);
  expect(posted).toEqual([{ posted: 0 }]);
});

test("continues when another process erases the same prompts first", async () => {
  const { db } = server.app;
  const { accountId } = await server.createCaller();
  await server.publish(QUICK.replace("Quick", `Quick of ${accountId}`), { authorId: accountId });
  await beginDeletion(db, { accountId, prompts: "remove", actorId: null });
  const error = vi.fn();
  const files = { list: async () => [], open: async () => null, removeAll: async () => {} };
  const ports = { db, files, log: { ...createLog("silent"), error }, onCanceled: () => {} };
  const slow = await db.tx(async (tx) => {
    await lockPublishing(tx);
    const ended = finishDeletions(ports);
    await until(async () => (await db.query(WAITING)).length > 0);
    await promptsOfAccount.erasePromptsOf(db, accountId);
    return { ended };
  });
  await slow.ended;
  expect(error.mock.calls).toEqual([]);
});

describe("is refused", () => {
  test("to a member, and while another account would be left without an owner", async () => {
    const [owner, member] = [
      await createTestPerson(server, { email: "owner@example.org" }),
      await createTestPerson(server),
    ];
    const shared = await server.createCaller({ displayName: "Shared" });
    const join = "insert into account_members (account_id, person_id, role) values ($1, $2, $3)";
    await server.app.db.query(join, [shared.accountId, owner.personId, "owner"]);
    await server.app.db.query(join, [shared.accountId, member.personId, "member"]);
    await server.app.db.query(join, [owner.accountId, member.personId, "member"]);
    const asMember = clientOf(server, { cookie: member.cookie }, owner.accountId);
    const body = { confirm: "owner@example.org", prompts: "keep" } as const;
    expect(await codeOf(asMember.send("deleteAccount", { body }))).toBe("UNAUTHORIZED_ERROR");
    await expect(remove(owner, "owner@example.org")).rejects.toMatchObject({
      message: expect.stringContaining("Shared"),
    });
    expect((await owner.client.send("getSession")).accounts).toHaveLength(2);
  });

  test("to one of two owners while the other is leaving", async () => {
    const [shared, ada, bob] = [
      await createTestPerson(server, { email: "shared@leaving.example" }),
      await createTestPerson(server, { email: "ada@leaving.example" }),
      await createTestPerson(server, { email: "bob@leaving.example" }),
    ];
    const { db } = server.app;
    await db.query("update account_members set person_id = $2, is_personal = false where account_id = $1", [
      shared.accountId,
      ada.personId,
    ]);
    const join = "insert into account_members (account_id, person_id, role) values ($1, $2, 'owner')";
    await db.query(join, [shared.accountId, bob.personId]);
    const { deleting } = await db.tx(async (tx) => {
      await tx.query("delete from account_members where account_id = $1 and person_id = $2", [
        shared.accountId,
        bob.personId,
      ]);
      const sent = codeOf(remove(ada, "ada@leaving.example"));
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await Promise.race([sent, until(async () => (await db.query(waits)).length > 0)]);
      return { deleting: sent };
    });
    expect(await deleting).toBe("VALIDATION_ERROR");
  });

  test("to another owner of somebody's personal account, which would end that person's sign-in", async () => {
    const [own, guest] = [
      await createTestPerson(server, { email: "own@example.org" }),
      await createTestPerson(server, { email: "guest@example.org" }),
    ];
    const join = "insert into account_members (account_id, person_id, role) values ($1, $2, 'owner')";
    await server.app.db.query(join, [own.accountId, guest.personId]);
    const there = clientOf(server, { cookie: guest.cookie }, own.accountId);
    const body = { confirm: "own@example.org", prompts: "keep" } as const;
    await expect(there.send("deleteAccount", { body })).rejects.toMatchObject({
      message: expect.stringContaining("another person's personal account"),
    });
    const params = { personId: own.personId };
    expect(await codeOf(there.send("updateMember", { params, body: { role: "member" } }))).toBe("VALIDATION_ERROR");
    expect(await codeOf(own.client.send("getSession"))).toBe("SUCCESS");
  });

  test("to the only operator", async () => {
    const { person } = await operator.client.send("getSession");
    await expect(remove(operator, person.email)).rejects.toMatchObject({
      message: expect.stringContaining("only operator"),
    });
  });
});

test("by an operator works once for an account that nobody owns, and is in the audit log", async () => {
  const { accountId } = await server.createCaller({ credits: 20 });
  const [account] = await server.app.db.query<{ email: string }>("select email from accounts where id = $1", [
    accountId,
  ]);
  const body = { confirm: account?.email ?? "", prompts: "keep" } as const;
  const send = () => operator.client.send("deleteAccountOf", { params: { accountId }, body });
  expect(await send()).toMatchObject({ accountId });
  expect(await codeOf(send())).toBe("NOT_FOUND_ERROR");
  await finished(accountId);
  const { rows } = await operator.client.send("listAudit", { query: { action: "deleteAccountOf" } });
  expect(rows.map(({ subject, outcome }) => [subject, outcome])).toContainEqual([accountId, "SUCCESS"]);
});

test("makes the account absent for operators: it is not shown, and cannot be given anything", async () => {
  const gone = await createTestPerson(server, { email: "gone@example.org" });
  const { accountId } = gone;
  await remove(gone, "gone@example.org");
  const said = async (id: string) => {
    const params = { accountId: id };
    const grant = { body: { account: id, amount: 5 }, headers: { "idempotency-key": "one" } };
    const requests: readonly Promise<unknown>[] = [
      operator.client.call("grantCredits", grant),
      operator.client.send("setPlan", { params, body: { plan: "pro", until: null } }),
      operator.client.send("freezeAccount", { params, body: { isFrozen: false, reason: "r" } }),
      operator.client.send("getAccount", { params }),
      operator.client.send("deleteAccountOf", { params, body: { confirm: "gone@example.org", prompts: "keep" } }),
    ];
    const refused = (error: unknown) => {
      if (error instanceof PromptdError) return `${error.code} ${error.message.replace(id, "ID")}`;
      throw error;
    };
    return Promise.all(requests.map((one) => one.then(() => "SUCCESS", refused)));
  };
  const absent = await said("019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18");
  for (const answer of absent) expect(answer).toContain("NOT_FOUND_ERROR No account has the");
  expect(await said(accountId)).toEqual(absent);
  expect((await operator.client.send("listAccounts", { query: { q: accountId } })).rows).toEqual([]);
  const config = readConfig({ DATABASE_URL: server.databaseUrl });
  const log = createLog(config.PROMPTD_LOG_LEVEL, "stderr");
  const terminal = createOperator({ db: server.app.db, config, log, newId: createIdSource(systemClock) });
  const grant = { user: accountId, amount: 5, expiresAtMs: null };
  await expect(terminal.accounts.grantCredits(grant)).rejects.toMatchObject({ code: "NOT_FOUND_ERROR" });
  await expect(terminal.accounts.setPlan(accountId, "pro", null)).rejects.toMatchObject({ code: "NOT_FOUND_ERROR" });
  const reason = "The ledger of a deleted account is repaired like any other.";
  expect(await terminal.accounts.freeze(accountId, reason)).toMatchObject({ account: { userId: accountId } });
  expect(await finished(accountId)).toMatchObject({ accountId });
});

test("grants nobody the credits of a sign-up a second time, not even under another form of the address", async () => {
  const balanceOf = async (email: string) => {
    const person = await createTestPerson(server, { email });
    return { person, available: (await person.client.send("getCredits")).available };
  };
  const first = await balanceOf("mia@example.org");
  expect(first.available).toBe(7);
  await remove(first.person, "mia@example.org");
  expect((await balanceOf("mia@example.org")).available).toBe(0);
  expect((await balanceOf("mia+again@example.org")).available).toBe(0);
  expect((await balanceOf("maya@example.org")).available).toBe(7);
});
