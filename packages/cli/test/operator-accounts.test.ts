/** promptd admin user, key, plan, credits, and ledger in their own processes: documents, exit codes, rejections. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { createInstallation, killLeftovers, run, readDocument, runHere, type OwnDatabase } from "./operator-process.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const NOBODY_ID = "00000000-0000-7000-8000-000000000000";

let installation: OwnDatabase;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(async () => {
  await killLeftovers();
  await installation.remove();
});

interface User {
  userId: string;
  email: string;
  plan: string;
  credits: number;
}

function admin<Document>(...words: string[]): Promise<Document> {
  return readDocument<Document>(["admin", ...words], installation.environment, runHere);
}

function createUser(email: string, ...flags: string[]): Promise<User> {
  return admin<User>("user", "create", "--email", email, ...flags);
}

async function ask<Row>(statement: string, values: unknown[]): Promise<Row[]> {
  const connection = openConnection(installation.url, "asking-test");
  await connection.connect();
  const { rows } = await connection.query(statement, values);
  await connection.end();
  return rows as Row[];
}

async function createKey(user: string, ...flags: string[]) {
  return admin<{ keyId: string; apiKey: string }>("key", "create", "--user", user, ...flags);
}

describe("promptd admin user create", () => {
  test("prints userId, email, plan, and credits, and nothing else on stdout or stderr", async () => {
    const argv = [
      "admin",
      "user",
      "create",
      "--email",
      "Ada@Example.org",
      "--username",
      "ada",
      "--display-name",
      "Ada L",
    ];
    const { code, stdout, stderr } = await run([...argv, "--credits", "250", "--json"], installation.environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const user = JSON.parse(stdout) as User;
    expect(user).toEqual({ userId: expect.stringMatching(UUID), email: "ada@example.org", plan: "pro", credits: 250 });
    const [row] = await ask("select email, username, display_name, pro_until::text from accounts where id = $1", [
      user.userId,
    ]);
    expect(row).toEqual({ email: "ada@example.org", username: "ada", display_name: "Ada L", pro_until: "infinity" });
  });

  test("with only an address, gives the pro plan and no credits; --plan none gives no plan", async () => {
    expect(await createUser("plain@example.org")).toMatchObject({ plan: "pro", credits: 0 });
    expect(await createUser("none@example.org", "--plan", "none")).toMatchObject({ plan: "none", credits: 0 });
  });

  test("as text, names the account and its id", async () => {
    const { stdout } = await runHere(
      ["admin", "user", "create", "--email", "text@example.org"],
      installation.environment,
    );
    expect(stdout).toMatch(/^Created text@example\.org with plan pro and 0 credits\.\n[0-9a-f-]{36}\n$/);
  });

  test("rejects an existing address in any letter case, and leaves the account unchanged", async () => {
    await createUser("twice@example.org", "--credits", "5");
    const argv = ["admin", "user", "create", "--email", "TWICE@example.org", "--credits", "70", "--json"];
    const { code, stdout, stderr } = await run(argv, installation.environment);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "An account with this email address or user name already exists. Use that account, or choose another address and name.\n",
    );
    expect(await admin("credits", "grant", "--user", "twice@example.org", "--amount", "1")).toEqual({ credits: 6 });
  });
});

describe("promptd admin key", () => {
  test("create prints keyId and apiKey; only a hash of the key is stored", async () => {
    const { userId } = await createUser("keys@example.org");
    const key = await createKey("keys@example.org", "--name", "laptop");
    expect(key).toEqual({ keyId: expect.stringMatching(UUID), apiKey: expect.stringMatching(/^pd_[0-9A-Za-z]{36}$/) });
    const rows = await ask<{ text: string }>("select k::text as text from api_keys k where account_id = $1", [userId]);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.text).toContain("laptop");
    expect(rows[0]?.text).not.toContain(key.apiKey);
  });

  test("create also accepts the account's id, in any letter case", async () => {
    const { userId } = await createUser("by-id@example.org");
    expect((await createKey(userId.toUpperCase())).keyId).toMatch(UUID);
  });

  test("revoke prints keyId and revokedAt, and the same time when repeated", async () => {
    await createUser("revoke@example.org");
    const { keyId } = await createKey("revoke@example.org");
    const first = await admin("key", "revoke", keyId);
    expect(first).toEqual({ keyId, revokedAt: expect.stringMatching(TIME) });
    expect(await admin("key", "revoke", keyId.toUpperCase())).toEqual(first);
  });

  test("revoke accepts the key itself or its display form, so that a leaked key needs no id", async () => {
    await createUser("leak@example.org");
    const [one, other] = [await createKey("leak@example.org"), await createKey("leak@example.org")];
    expect(await admin("key", "revoke", one.apiKey)).toMatchObject({ keyId: one.keyId });
    const display = `${other.apiKey.slice(0, 8)}...${other.apiKey.slice(-4)}`;
    expect(await admin("key", "revoke", display)).toMatchObject({ keyId: other.keyId });
  });

  test("list shows terms, state, and usage; roll replaces a key and lets the old one expire", async () => {
    await createUser("terms@example.org");
    const promptId = "00000000-0000-7000-8000-00000000000a";
    const flags = ["--name", "ci", "--cap", "50", "--expires", "2031-05-06", "--prompt", promptId];
    const { keyId, apiKey } = await createKey("terms@example.org", ...flags);
    const listed = {
      keyId,
      name: "ci",
      display: `${apiKey.slice(0, 8)}…${apiKey.slice(-4)}`,
      state: "valid",
      createdAt: expect.stringMatching(TIME),
      expiresAt: "2031-05-06T00:00:00.000Z",
      revokedAt: null,
      lastUsedAt: null,
      lastUsedFrom: null,
      monthlyCap: 50,
      usedThisMonth: 0,
      promptIds: [promptId],
    };
    expect(await admin("key", "list", "terms@example.org")).toEqual({ keys: [listed] });
    const rolled = await admin("key", "roll", keyId, "--overlap", "0");
    expect(rolled).toEqual({
      keyId: expect.stringMatching(UUID),
      apiKey: expect.stringMatching(/^pd_/),
      oldKeyId: keyId,
      oldKeyExpiresAt: expect.stringMatching(TIME),
    });
    expect(await admin("key", "list", "terms@example.org")).toMatchObject({
      keys: [
        { ...listed, keyId: expect.not.stringMatching(keyId), display: expect.any(String) },
        { keyId, state: "expired" },
      ],
    });
  });
});

describe("promptd admin plan set", () => {
  test("prints userId, plan, and until: null without an end, UTC with one", async () => {
    const { userId } = await createUser("plan@example.org", "--plan", "none");
    const set = (...flags: string[]) => admin("plan", "set", "--user", "plan@example.org", ...flags);
    expect(await set("--plan", "pro")).toEqual({ userId, plan: "pro", until: null });
    expect(await set("--plan", "pro", "--until", "2031-05-06T10:00:00+02:00")).toEqual({
      userId,
      plan: "pro",
      until: "2031-05-06T08:00:00.000Z",
    });
    expect(await ask("select pro_until from accounts where id = $1", [userId])).toEqual([
      { pro_until: new Date("2031-05-06T08:00:00Z") },
    ]);
    expect(await set("--plan", "none")).toEqual({ userId, plan: "none", until: null });
  });

  test("reads a time without a zone, and a date alone, as UTC wherever the command runs", async () => {
    await createUser("zone@example.org");
    const environment = { ...installation.environment, TZ: "Pacific/Auckland" };
    const until = async (text: string) => {
      const argv = ["admin", "plan", "set", "--user", "zone@example.org", "--plan", "pro", "--until", text];
      return (await readDocument<{ until: string }>(argv, environment, run)).until;
    };
    expect(await until("2031-05-06T10:00")).toBe("2031-05-06T10:00:00.000Z");
    expect(await until("2031-05-06")).toBe("2031-05-06T00:00:00.000Z");
  });
});

test("promptd admin plan set warns on stderr that --until is in the past, but applies it", async () => {
  await createUser("past@example.org");
  const argv = [
    "admin",
    "plan",
    "set",
    "--user",
    "past@example.org",
    "--plan",
    "pro",
    "--until",
    "2001-01-01",
    "--json",
  ];
  const { code, stderr } = await run(argv, installation.environment);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining("--until is in the past: 2001-01-01T00:00:00.000Z. ") as string,
  });
});

describe("promptd admin credits grant", () => {
  const grant = (user: string, amount: number, ...flags: string[]) =>
    admin("credits", "grant", "--user", user, "--amount", String(amount), ...flags);

  test("prints the available balance, and writes amount and reason to the journal", async () => {
    const { userId } = await createUser("grant@example.org", "--credits", "10");
    expect(await grant("grant@example.org", 5, "--reason", "thanks")).toEqual({ credits: 15 });
    expect(await grant("grant@example.org", 7, "--expires", "2099-01-01")).toEqual({ credits: 22 });
    const journal = "select kind, amount::int, actor from credit_transfers where account_id = $1 order by id";
    expect(await ask(journal, [userId])).toEqual([
      { kind: "grant", amount: 10, actor: "given at creation" },
      { kind: "grant", amount: 5, actor: "thanks" },
      { kind: "grant", amount: 7, actor: null },
    ]);
  });

  test("with an expiry in the past are rejected, and the journal stays empty", async () => {
    const { userId } = await createUser("past-grant@example.org");
    const argv = ["admin", "credits", "grant", "--user", "past-grant@example.org", "--amount", "5", "--json"];
    expect(await runHere([...argv, "--expires", "2001-01-01"], installation.environment)).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "The expiry 2001-01-01T00:00:00.000Z is in the past, so nothing was granted. Choose a later time, or leave the expiry out for credits that never expire.\n",
    });
    expect(await ask("select 1 from credit_transfers where account_id = $1", [userId])).toEqual([]);
  });

  test("repeated with their idempotency key after they expire are reported as already granted", async () => {
    const { userId } = await createUser("late-repeat@example.org");
    await ask("select credit_grant($1, 5, 'invoice-6', null, '2001-01-01T00:00:00Z')", [userId]);
    const flags = ["--expires", "2001-01-01", "--idempotency-key", "invoice-6"];
    expect(await grant("late-repeat@example.org", 5, ...flags)).toEqual({ credits: 0 });
  });

  test("with one idempotency key are granted once per account, even by simultaneous commands, which say so", async () => {
    await Promise.all([createUser("once@example.org", "--credits", "1"), createUser("other@example.org")]);
    const again = () => grant("once@example.org", 40, "--idempotency-key", "invoice-7");
    expect(await Promise.all([again(), again()])).toEqual([{ credits: 41 }, { credits: 41 }]);
    const argv = ["admin", "credits", "grant", "--user", "once@example.org", "--amount", "40", "--json"];
    const third = await run([...argv, "--idempotency-key", "invoice-7"], installation.environment);
    expect(third).toEqual({
      code: 0,
      stdout: '{\n  "credits": 41\n}\n',
      stderr: "Nothing was granted: this idempotency key was already used for the same grant.\n",
    });
    expect(await grant("other@example.org", 40, "--idempotency-key", "invoice-7")).toEqual({ credits: 40 });
  });

  test.each<[name: string, flags: string[], expires?: string]>([
    ["another amount", ["--amount", "50"]],
    ["another expiry", ["--amount", "40", "--expires", "2999-01-31T18:00:00Z"]],
    ["no expiry", ["--amount", "9"], "2999-01-31T18:00:00Z"],
  ])("under a key that was used before with %s are refused, and nothing is granted", async (name, flags, expires) => {
    const user = `${name.replaceAll(" ", "-")}@example.org`;
    await createUser(user);
    const [amount, ends] = expires === undefined ? [40, []] : [9, ["--expires", expires]];
    await grant(user, amount, "--idempotency-key", "invoice-8", ...ends);
    const argv = ["admin", "credits", "grant", "--user", user, "--idempotency-key", "invoice-8", "--json"];
    const { code, stdout, stderr } = await run([...argv, ...flags], installation.environment);
    const used =
      expires === undefined ? "40 credits without an expiry" : "9 credits with the expiry 2999-01-31 at 18:00 UTC";
    const today = new Date().toISOString().slice(0, 10);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: `The idempotency key "invoice-8" was already used on ${today} for ${used}. Nothing was granted; use another key.\n`,
    });
    expect(await grant(user, 1)).toEqual({ credits: amount + 1 });
  });
});

const NO_USER = (name: string) =>
  `No account has the email address or id "${name}". List all accounts with "promptd admin account list", or create one with "promptd admin user create --email <E>".\n`;
const PLAN_NEEDS = (flags: string) =>
  `"promptd admin plan set" needs ${flags}.\nUsage: promptd admin plan set --user EMAIL|USERID --plan pro|none\n`;
const GRANT_NEEDS = (flags: string) =>
  `"promptd admin credits grant" needs ${flags}.\nUsage: promptd admin credits grant --user EMAIL|USERID --amount N\n`;
const FREEZE_NEEDS = (name: string) =>
  `"promptd admin account ${name}" needs --reason.\nUsage: promptd admin account ${name} <EMAIL|USERID> --reason R\n`;
const ADJUST_NEEDS = (flags: string) =>
  `"promptd admin ledger adjust" needs ${flags}.\nUsage: promptd admin ledger adjust --user EMAIL|USERID --amount N --reason R\n`;
const AMOUNT = (got: string) => `--amount must be a whole number from 1 to 1000000000000, got "${got}".\n`;
const NO_ID = (got: string) =>
  `promptId must be a UUID, got "${got}". To find the id of a slug, use "promptd admin prompt show".\n`;
const TIME_FAULT = (flag: string, got: string) =>
  `${flag} must be a time such as 2027-01-31T18:00:00Z, got "${got}".\n`;

/** What was typed, and the complete stderr. */
const NAME_KEY = 'Name it by its id or display form, which "promptd admin key list" shows, or pass the whole key.\n';
const REFUSALS: readonly (readonly [string, string])[] = [
  ["user create", '"promptd admin user create" needs --email.\nUsage: promptd admin user create --email E\n'],
  ["user create --email=", '"promptd admin user create" needs --email.\nUsage: promptd admin user create --email E\n'],
  ["user create --email nobody", '"nobody" is not a valid email address. Expected one such as ada@example.org.\n'],
  ["user create --email a@b.c --plan gold", '--plan must be pro or none, got "gold".\n'],
  ["user create --email a@b.c --credits -3", '--credits must be a whole number from 0 to 1000000000000, got "-3".\n'],
  ["user create --email a@b.c --credits 1.5", '--credits must be a whole number from 0 to 1000000000000, got "1.5".\n'],
  ["user create --email a@b.c --username=", "--username must have 1 to 200 characters, got 0.\n"],
  [
    "user create --email a@b.c --emial x",
    '"promptd admin user create" has no flag --emial. Did you mean --email?\nSee "promptd admin user create --help".\n',
  ],
  [
    "user create a@b.c",
    '"promptd admin user create" does not accept "a@b.c" without a flag. Did you mean --email a@b.c?\n' +
      "Usage: promptd admin user create --email E\n",
  ],
  [
    "credits grant a@b.c 5",
    '"promptd admin credits grant" does not accept "a@b.c 5" without a flag. It needs --user and --amount.\n' +
      "Usage: promptd admin credits grant --user EMAIL|USERID --amount N\n",
  ],
  ["key create", '"promptd admin key create" needs --user.\nUsage: promptd admin key create --user EMAIL|USERID\n'],
  ["key create --user ghost@example.org", NO_USER("ghost@example.org")],
  [`key create --user ${NOBODY_ID}`, NO_USER(NOBODY_ID)],
  [
    "key revoke",
    '"promptd admin key revoke" needs <keyId|display|key|->.\nUsage: promptd admin key revoke <keyId|display|key|->\n',
  ],
  ["key revoke laptop", `No API key has this display form or value. ${NAME_KEY}`],
  [`key revoke ${NOBODY_ID}`, `No API key has the id "${NOBODY_ID}". ${NAME_KEY}`],
  ["token revoke pdm_laptop", "No management token has this value. Name it by its id, or pass the whole token.\n"],
  [
    `token revoke ${NOBODY_ID}`,
    `No management token has the id "${NOBODY_ID}". Name it by its id, or pass the whole token.\n`,
  ],
  [`key roll ${NOBODY_ID}`, `No API key has the id "${NOBODY_ID}". ${NAME_KEY}`],
  [`key roll ${NOBODY_ID} --overlap 2161`, "--overlap must be at most 2160 hours, got 2161.\n"],
  ["key list ghost@example.org", NO_USER("ghost@example.org")],
  ["key create --user a@b.c --cap -1", '--cap must be a whole number from 0 to 1000000000000, got "-1".\n'],
  ["key create --user a@b.c --expires soon", TIME_FAULT("--expires", "soon")],
  ["key create --user a@b.c --prompt essay", NO_ID("essay")],
  ["prompt share x --percent 5", NO_ID("x")],
  [
    "key create --user a@b.c --expires 2001-01-01",
    "The expiry 2001-01-01T00:00:00.000Z is in the past, so no key was created. Choose a later time, or leave the expiry out for a key that never expires.\n",
  ],
  [`prompt share ${NOBODY_ID} --percent 5`, `No prompt has the id "${NOBODY_ID}".\n`],
  [
    `prompt share ${NOBODY_ID}`,
    '"promptd admin prompt share" needs --percent.\nUsage: promptd admin prompt share <promptId> --percent N\n',
  ],
  [
    `prompt share ${NOBODY_ID} --percent 101`,
    '--percent must be a whole number from 0 to 100, or default, got "101".\n',
  ],
  ["plan set --plan pro", PLAN_NEEDS("--user")],
  ["plan set", PLAN_NEEDS("--user and --plan")],
  ["plan set --user ghost@example.org --plan pro", NO_USER("ghost@example.org")],
  ["plan set --user ghost@example.org", PLAN_NEEDS("--plan")],
  ["plan set --user a@b.c --plan pro --until tomorrow", TIME_FAULT("--until", "tomorrow")],
  ["plan set --user a@b.c --plan pro --until 2027-02-29", TIME_FAULT("--until", "2027-02-29")],
  ["plan set --user a@b.c --plan none --until 2027-02-28", "--until requires --plan pro.\n"],
  ["credits grant --amount 5", GRANT_NEEDS("--user")],
  ["credits grant --user a@b.c", GRANT_NEEDS("--amount")],
  ["credits grant --user ghost@example.org --amount 5", NO_USER("ghost@example.org")],
  ["credits grant --user a@b.c --amount 0", AMOUNT("0")],
  ["credits grant --user a@b.c --amount -1", AMOUNT("-1")],
  ["credits grant --user a@b.c --amount 1000000000001", AMOUNT("1000000000001")],
  ["credits grant --user a@b.c --amount 5 --expires 31.12.2027", TIME_FAULT("--expires", "31.12.2027")],
  [
    "account show",
    '"promptd admin account show" needs <EMAIL|USERID>.\nUsage: promptd admin account show <EMAIL|USERID>\n',
  ],
  ["account show ghost@example.org", NO_USER("ghost@example.org")],
  ["account freeze ghost@example.org --reason r", NO_USER("ghost@example.org")],
  ["account unfreeze ghost@example.org --reason r", NO_USER("ghost@example.org")],
  ["account freeze a@b.c", FREEZE_NEEDS("freeze")],
  ["account unfreeze a@b.c", FREEZE_NEEDS("unfreeze")],
  ["ledger adjust --amount 5 --reason r", ADJUST_NEEDS("--user")],
  ["ledger adjust", ADJUST_NEEDS("--user, --amount, and --reason")],
  ["ledger adjust --user a@b.c --reason r", ADJUST_NEEDS("--amount")],
  ["ledger adjust --user a@b.c --amount 5", ADJUST_NEEDS("--reason")],
  ["ledger adjust --user ghost@example.org --amount 5 --reason r", NO_USER("ghost@example.org")],
  [
    "ledger adjust --user a@b.c --amount -1.5 --reason r",
    '--amount must be a whole number from -1000000000000 to 1000000000000, got "-1.5".\n',
  ],
  ["ledger check now", '"promptd admin ledger check" does not accept "now".\nUsage: promptd admin ledger check\n'],
];

test.each(REFUSALS)(
  "promptd admin %s: exit code 1, a sentence on stderr, nothing on stdout",
  async (typed, sentence) => {
    const outcome = await runHere(["admin", ...typed.split(" "), "--json"], installation.environment);
    expect(outcome).toEqual({ code: 1, stdout: "", stderr: sentence });
  },
);

describe("promptd admin account", () => {
  test("show prints plan, credits, active runs, and whether the account is frozen", async () => {
    const { userId } = await createUser("show@example.org", "--credits", "9");
    const shown = {
      userId,
      email: "show@example.org",
      plan: "pro",
      until: null,
      credits: { posted: 9, held: 0, available: 9 },
      frozen: null,
      activeRuns: 0,
    };
    expect(await admin("account", "show", "show@example.org")).toEqual(shown);
    expect(await admin("account", "show", userId.toUpperCase())).toEqual(shown);
    const text = await runHere(["admin", "account", "show", "show@example.org"], installation.environment);
    expect(text.stdout).toBe(
      `show@example.org (${userId})\nPlan: pro\nCredits: 9 posted, 0 held, 9 available\nActive runs: 0\nFrozen: no\n`,
    );
  });

  test("freeze and unfreeze print the account and record each reason once", async () => {
    const email = "freeze@example.org";
    const { userId } = await createUser(email);
    const act = (verb: string, reason: string) =>
      runHere(["admin", "account", verb, userId, "--reason", reason, "--json"], installation.environment);
    const frozen = { since: expect.stringMatching(TIME) as string, reason: "in dispute" };
    const first = await act("freeze", "in dispute");
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(first.stdout)).toMatchObject({ userId, frozen });
    const again = await act("freeze", "another");
    expect(again).toEqual({
      code: 0,
      stdout: first.stdout,
      stderr: "The account was already frozen. It keeps its first reason.\n",
    });
    const check = await admin<{ frozen: { accountId: string }[] }>("ledger", "check");
    expect(check.frozen.filter((one) => one.accountId === userId)).toEqual([{ accountId: userId, email, ...frozen }]);
    const checked = await runHere(["admin", "ledger", "check"], installation.environment);
    expect(checked.stdout).toMatch(new RegExp(`\\n1 frozen:\\n  ${email} \\(${userId}\\) since \\S+, in dispute\\n$`));
    expect(JSON.parse((await act("unfreeze", "settled")).stdout)).toMatchObject({ userId, frozen: null });
    expect((await act("unfreeze", "twice")).stderr).toBe("The account was not frozen. Nothing was changed.\n");
    const history = "select is_frozen, reason from credit_freezes where account_id = $1 order by id";
    expect(await ask(history, [userId])).toEqual([
      { is_frozen: true, reason: "in dispute" },
      { is_frozen: false, reason: "settled" },
    ]);
  });

  test("unfreeze is rejected with the ledger's faults until the ledger is adjusted", async () => {
    const { userId } = await createUser("repair@example.org", "--credits", "10");
    await admin("account", "freeze", userId, "--reason", "the audit found: balance");
    await ask("update credit_accounts set posted = posted + 5 where account_id = $1", [userId]);
    const unfreeze = ["admin", "account", "unfreeze", userId, "--reason", "repaired", "--json"];
    const refused = await runHere(unfreeze, installation.environment);
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^The account stays frozen, because its ledger does not add up:\n {2}balance: .*\nRepair/,
      ) as string,
    });
    const adjust = ["ledger", "adjust", "--user", userId, "--amount", "0", "--reason", "changed by hand"];
    expect(await admin(...adjust)).toMatchObject({ credits: { posted: 10, held: 0, available: 10 } });
    expect(JSON.parse((await runHere(unfreeze, installation.environment)).stdout)).toMatchObject({ frozen: null });
  });
});

describe("promptd admin ledger adjust", () => {
  const adjust = (user: string, amount: string, reason = "double charge") =>
    runHere(
      ["admin", "ledger", "adjust", "--user", user, "--amount", amount, "--reason", reason, "--json"],
      installation.environment,
    );

  test("adds and takes away credits, each with a journal row that says why", async () => {
    const { userId } = await createUser("adjust@example.org", "--credits", "10");
    expect(JSON.parse((await adjust(userId, "5")).stdout)).toMatchObject({ credits: { posted: 15 } });
    expect(JSON.parse((await adjust(userId, "-15", "a mistake")).stdout)).toMatchObject({ credits: { available: 0 } });
    const journal = `select kind, debit, credit, amount::int, actor, posted_after::int from credit_transfers
      where account_id = $1 and kind = 'adjust' order by id`;
    const [added, taken] = ["system:adjusted", "user:available"];
    expect(await ask(journal, [userId])).toEqual([
      { kind: "adjust", debit: added, credit: taken, amount: 5, actor: "double charge", posted_after: 15 },
      { kind: "adjust", debit: taken, credit: added, amount: 15, actor: "a mistake", posted_after: 0 },
    ]);
  });

  test.each([
    [
      "-11",
      "An adjustment of -11 would leave fewer credits than are held for runs; 10 credits are available. Nothing was adjusted.\n",
    ],
    ["0", "The balance already matches its journal, so an adjustment of 0 changes nothing.\n"],
  ])("of %s of an account with 10 credits is refused, and writes nothing", async (amount, sentence) => {
    const { userId } = await createUser(`adjust${amount}@example.org`, "--credits", "10");
    expect(await adjust(userId, amount)).toEqual({ code: 1, stdout: "", stderr: sentence });
    expect(await ask("select kind from credit_transfers where account_id = $1", [userId])).toEqual([{ kind: "grant" }]);
  });
});

describe("promptd admin ledger check", () => {
  test("exits with 0 when no balance mismatches, and with 1 and the mismatch after a balance was changed by hand", async () => {
    const own = await createInstallation();
    try {
      expect(await readDocument(["admin", "ledger", "check"], own.environment, runHere)).toEqual({
        accounts: 0,
        mismatches: [],
        frozen: [],
      });
      const argv = ["admin", "user", "create", "--email", "ada@example.org", "--credits", "10"];
      const { userId } = await readDocument<User>(argv, own.environment, runHere);
      expect(await readDocument(["admin", "ledger", "check"], own.environment, runHere)).toEqual({
        accounts: 1,
        mismatches: [],
        frozen: [],
      });
      const connection = openConnection(own.url, "tampering-test");
      await connection.connect();
      await connection.query("update credit_accounts set posted = posted + 1 where account_id = $1", [userId]);
      await connection.end();
      const { code, stdout, stderr } = await run(["admin", "ledger", "check", "--json"], own.environment);
      expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
      const report = JSON.parse(stdout) as { accounts: number; mismatches: { accountId: string }[] };
      expect(report.accounts).toBe(1);
      expect(report.mismatches.length).toBeGreaterThan(0);
      for (const mismatch of report.mismatches) expect(mismatch.accountId).toBe(userId);
      const text = await runHere(["admin", "ledger", "check"], own.environment);
      expect(text.code).toBe(1);
      expect(text.stdout).toMatch(/^1 accounts?, \d+ mismatch(es)?:\n/);
      expect(text.stdout).toContain(userId);
    } finally {
      await own.remove();
    }
  });
});
