/** What admission to /v1 answers for each key: form, revocation, rate, and plan, on a stopped database clock. */
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createApiKey,
  createAdmissionControl,
  revokeAllKeys,
  revokeApiKey,
  setPlan,
  type AdmissionControl,
} from "../../src/accounts/index.ts";
import { mintApiKey, mintToken } from "../../src/accounts/api-keys.ts";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createLog, type Log } from "../../src/platform/log.ts";
import { openEngine, stopClock, type Engine } from "../runs/engine-fixture.ts";
import { createKeys } from "./limiter-fixture.ts";
import { until } from "../support/promptd-process.ts";

const NOW_US = 1_000_000_000_000_000;
const USED_MS = Date.UTC(2026, 10, 20, 10, 15, 30, 123);
const log = createLog("silent", "stderr");
let engine: Engine;
const controls: AdmissionControl[] = [];

beforeAll(async () => {
  engine = await openEngine();
});
beforeEach(() => stopClock(engine.db, NOW_US));
afterEach(async () => {
  await Promise.all(controls.splice(0).map((control) => control.close()));
});
afterAll(() => engine.close());

type AdmissionChange = Partial<Parameters<typeof createAdmissionControl>[0]>;

function openAdmission(change: AdmissionChange = {}): AdmissionControl {
  const clock = { nowMs: () => USED_MS };
  const usual = { db: engine.db, clock, log, limitPerSecond: 5, scope: "account", plans: true } as const;
  const control = createAdmissionControl({
    sleep: () => Promise.reject(new Error("no request waits here")),
    ...usual,
    ...change,
  });
  controls.push(control);
  return control;
}

async function request(control: AdmissionControl, ...authorization: string[]) {
  return requestFrom("192.0.2.1", control, ...authorization);
}

async function requestFrom(address: string, control: AdmissionControl, ...authorization: string[]) {
  const admission = await control.admit({ authorization, address });
  if (admission.kind === "admitted") return { ...admission.caller, remaining: admission.remaining };
  const { code, message, headers, data } = admission.problem;
  return { code, message, headers, data, remaining: admission.remaining };
}

/** As many requests as the limit allows, one after the other. */
async function fill(control: AdmissionControl, apiKey: string, times = 5): Promise<void> {
  for (let i = 0; i < times; i += 1) await control.admit({ authorization: [`Bearer ${apiKey}`], address: "" });
}

const refused = (message: string) => ({
  code: "UNAUTHORIZED_ERROR",
  message,
  headers: { "www-authenticate": "Bearer" },
  data: null,
  remaining: null,
});
const MISSING = 'No API key was sent. Send the header "Authorization: Bearer <API_KEY>".';
const FORM = 'The Authorization header must have the form "Bearer <API_KEY>".';
const INVALID = "The API key is not valid. Check it, create a new one, or ask the account's owner for one.";
const LONG = 'The Authorization header is longer than 256 characters. Send only "Bearer <API_KEY>".';
const TOKEN = `The request has a management token ("pdm_…"), but this endpoint needs an API key ("pd_…"). Send "Authorization: Bearer <API_KEY>".`;

describe("without a well-formed key, the answer says what is wrong and nothing is counted", () => {
  const key = mintApiKey();
  test.each([
    ["no header", [], MISSING],
    ["an empty header", [""], MISSING],
    ["a blank header", ["  "], MISSING],
    ["another scheme", [`Basic ${key}`], FORM],
    ["a word before the scheme", [`x Bearer ${key}`], FORM],
    ["a scheme that only ends in Bearer", [`xBearer ${key}`], FORM],
    ["no space after the scheme", [`Bearer${key}`], FORM],
    ["two words after it", [`Bearer ${key} ${key}`], FORM],
    ["nothing after it", ["Bearer "], FORM],
    ["256 characters", [`Bearer ${"a".repeat(249)}`], INVALID],
    ["257 characters", [`Bearer ${"a".repeat(250)}`], LONG],
    ["a typo in the key", [`Bearer ${key.slice(0, -1)}`], INVALID],
    ["a management token", [`Bearer ${mintToken()}`], TOKEN],
    ["a key that does not exist", [`Bearer ${key}`], INVALID],
    [
      "three headers",
      [`Bearer ${key}`, "", `Bearer ${key}`],
      'The request has 3 Authorization headers. Send one: "Authorization: Bearer <API_KEY>".',
    ],
  ])("%s", async (_, headers, message) => {
    expect(await request(openAdmission(), ...headers)).toEqual(refused(message));
  });

  test("a text that cannot be a key costs the database nothing", async () => {
    const { db, statements } = watched();
    expect(await request(openAdmission({ db }), `Bearer ${"a".repeat(39)}`)).toEqual(refused(INVALID));
    expect(statements).toEqual([]);
  });
});

describe("a valid key", () => {
  test.each(["Bearer KEY", "bearer KEY", "BEARER   KEY", "Bearer KEY  "])(
    "is admitted as %j, with its account and how many requests are left",
    async (form) => {
      const { accountId, apiKeys, keyIds } = await createKeys(engine, 1);
      const control = openAdmission();
      const header = form.replace("KEY", apiKeys[0] ?? "");
      const account = { username: null, displayName: null, flags: 0, isPro: true };
      expect(await request(control, header)).toEqual({ accountId, keyId: keyIds[0], account, remaining: 4 });
      expect(await request(control, header)).toMatchObject({ remaining: 3 });
    },
  );

  test("is admitted by one statement, which also reads the current names and flags of its account", async () => {
    const { accountId, apiKeys } = await createKeys(engine, 1);
    const { db, statements } = watched();
    const control = openAdmission({ db });
    for (const flags of [2, 6]) {
      const username = `user-${accountId.slice(-12)}-${flags}`;
      const text = "update accounts set username = $2, display_name = $3, user_flags = $4 where id = $1";
      await engine.db.query(text, [accountId, username, `User ${flags}`, flags]);
      const account = { username, displayName: `User ${flags}`, flags, isPro: true };
      expect(await request(control, `Bearer ${apiKeys[0]}`)).toMatchObject({ account });
    }
    expect(statements).toHaveLength(2);
  });

  test("that was revoked is refused with the day, however many requests it sends", async () => {
    const { apiKeys, keyIds } = await createKeys(engine, 1);
    await revokeApiKey(engine.db, keyIds[0] ?? "");
    const control = openAdmission();
    for (let i = 0; i < 7; i += 1) {
      expect(await request(control, `Bearer ${apiKeys[0]}`)).toEqual(
        refused("This API key was revoked on 2001-09-09."),
      );
    }
  });

  test("that has expired is refused with the minute", async () => {
    const { apiKeys, keyIds } = await createKeys(engine, 1);
    await engine.db.query("update api_keys set expires_at = promptd_now() where id = $1", [keyIds[0]]);
    const text =
      "This API key expired on 2001-09-09 at 01:46 UTC. Create a new one, or ask the account's owner for one.";
    expect(await request(openAdmission(), `Bearer ${apiKeys[0]}`)).toEqual(refused(text));
  });

  test("has its own rate limit if the operator chose that", async () => {
    const { apiKeys } = await createKeys(engine, 2);
    const [perKey, perAccount] = [openAdmission({ scope: "key" }), openAdmission()];
    await fill(perKey, apiKeys[0] ?? "");
    expect(await request(perKey, `Bearer ${apiKeys[1]}`)).toMatchObject({ remaining: 4 });
    await fill(perAccount, apiKeys[0] ?? "");
    expect(await request(perAccount, `Bearer ${apiKeys[1]}`)).toMatchObject({ code: "TOO_MANY_REQUESTS_ERROR" });
  });
});

describe("over the limit", () => {
  const tooMany = (waitMs: string, requests = "5 requests") => ({
    code: "TOO_MANY_REQUESTS_ERROR",
    message: `More than ${requests} in one second. Wait 1 second, then retry.`,
    headers: { "retry-after": "1", "retry-after-ms": waitMs },
    data: null,
    remaining: 0,
  });
  let header = "";
  let apiKey = "";
  beforeEach(async () => {
    apiKey = (await createKeys(engine, 1)).apiKeys[0] ?? "";
    header = `Bearer ${apiKey}`;
  });

  test("the answer gives the wait, rounded up to a millisecond and at most one second", async () => {
    const control = openAdmission();
    await fill(control, apiKey);
    await stopClock(engine.db, NOW_US + 749_999);
    expect(await request(control, header)).toEqual(tooMany("251"));
    await stopClock(engine.db, NOW_US + 500_000);
    expect(await request(control, header)).toEqual(tooMany("500"));
    await stopClock(engine.db, NOW_US - 900_000); // the clock stepped back
    expect(await request(control, header)).toEqual(tooMany("1000"));
  });

  test("the limit is worded correctly, and a lowered limit leaves zero and not less", async () => {
    await fill(openAdmission(), apiKey);
    expect(await request(openAdmission({ limitPerSecond: 1 }), header)).toEqual(tooMany("1000", "1 request"));
  });

  test("by a quarter of a second, a request waits until a millisecond after there is room, and is admitted", async () => {
    const sleeps: number[] = [];
    let nowUs = NOW_US + 750_000;
    const sleep = async (ms: number) => {
      sleeps.push(ms);
      await stopClock(engine.db, (nowUs += ms * 1_000));
    };
    const control = openAdmission({ sleep });
    await fill(control, apiKey, 5);
    await stopClock(engine.db, nowUs);
    expect(await request(control, header)).toMatchObject({ remaining: 4 });
    expect(sleeps).toEqual([251]);
  });

  test.each(["account", "key"] as const)(
    "at most one second's worth of requests of one %s wait, the rest of a flood is refused at once, and other requests can wait",
    async (scope) => {
      const released = Promise.withResolvers<void>();
      let waiting = 0;
      const sleep = () => {
        waiting += 1;
        return released.promise;
      };
      const control = openAdmission({ sleep, scope });
      const other = (await createKeys(engine, 1)).apiKeys[0] ?? "";
      await fill(control, apiKey);
      await fill(control, other);
      await stopClock(engine.db, NOW_US + 950_000);
      let answered = 0;
      const flood = Array.from({ length: 20 }, () => request(control, header).finally(() => (answered += 1)));
      await until(() => answered === 15);
      expect(waiting).toBe(5);
      const late = request(control, `Bearer ${other}`);
      await until(() => waiting === 6);
      await stopClock(engine.db, NOW_US + 1_000_000);
      released.resolve();
      expect((await Promise.all(flood)).filter((answer) => "accountId" in answer)).toHaveLength(5);
      expect(await late).toMatchObject({ remaining: 4 });
      await fill(control, apiKey); // earlier waits are over, so the next requests may wait
      await stopClock(engine.db, NOW_US + 1_900_000);
      await request(control, header);
      expect(waiting).toBe(8);
    },
  );

  test("a request that fits does not wait, however soon there is room for another", async () => {
    const control = openAdmission();
    await fill(control, apiKey, 4);
    await stopClock(engine.db, NOW_US + 950_000);
    expect(await request(control, header)).toMatchObject({ remaining: 0 });
  });

  test("a request that is still early after its wait waits once more, but not a third time", async () => {
    let sleeps = 0;
    const control = openAdmission({ sleep: async () => (sleeps += 1) });
    await fill(control, apiKey);
    await stopClock(engine.db, NOW_US + 950_000);
    expect(await request(control, header)).toEqual(tooMany("50"));
    expect(sleeps).toBe(2);
  });
});

describe("a plan", () => {
  const planProblem = (reason: string, message: string, remaining: number) => {
    return { code: "PAYMENT_REQUIRED_ERROR", message, headers: {}, data: { reason }, remaining };
  };
  let account: Awaited<ReturnType<typeof createKeys>>;
  let header = "";
  beforeEach(async () => {
    account = await createKeys(engine, 1);
    header = `Bearer ${account.apiKeys[0]}`;
  });

  test("that never existed is required, and a plan that ended must be renewed; both are checked after the rate", async () => {
    const control = openAdmission();
    await engine.db.query("update accounts set pro_until = default where id = $1", [account.accountId]);
    await setPlan(engine.db, account.accountId, { plan: "none", untilMs: null });
    expect(await request(control, header)).toEqual(
      planProblem("PLAN_REQUIRED", "The API needs a Pro plan. Ask an operator of this server for one.", 4),
    );
    await setPlan(engine.db, account.accountId, { plan: "pro", untilMs: NOW_US / 1_000 });
    const lapsed = planProblem(
      "PLAN_LAPSED",
      "Your Pro plan has ended. Ask an operator of this server to renew it.",
      3,
    );
    expect(await request(control, header)).toEqual(lapsed);
    await fill(control, account.apiKeys[0] ?? "", 3);
    expect(await request(control, header)).toMatchObject({ code: "TOO_MANY_REQUESTS_ERROR" });
  });

  test.each([
    ["without an end", "infinity", NOW_US],
    ["with an end to come", "2100-01-01T00:00:00Z", NOW_US],
    ["that had ended already, whose end stays", "2001-01-01T00:00:00Z", Date.UTC(2001, 0, 1) * 1_000],
  ])("%s that is removed lapses at once", async (_, proUntil, endUs) => {
    await engine.db.query("update accounts set pro_until = $2 where id = $1", [account.accountId, proUntil]);
    await setPlan(engine.db, account.accountId, { plan: "none", untilMs: null });
    const lapsed = planProblem(
      "PLAN_LAPSED",
      "Your Pro plan has ended. Ask an operator of this server to renew it.",
      4,
    );
    expect(await request(openAdmission(), header)).toEqual(lapsed);
    const rows = await engine.db.query("select pro_until from accounts where id = $1", [account.accountId]);
    expect(rows).toEqual([{ pro_until: new Date(endUs / 1_000) }]);
  });

  test("is not required if the operator sells none", async () => {
    await setPlan(engine.db, account.accountId, { plan: "none", untilMs: null });
    const found = { accountId: account.accountId, account: { isPro: false } };
    expect(await request(openAdmission({ plans: false }), header)).toMatchObject(found);
  });
});

/**
 * The database, and how many keys each admission statement asked for. All statements wait for `released`, and fail if
 * `broken`.
 */
function watched(released: Promise<void> = Promise.resolve()) {
  const seen = { statements: [] as number[], broken: false };
  const pipelined: Database["pipelined"] = async (statement, values) => {
    seen.statements.push((values[0] as Buffer[]).length);
    await released;
    if (seen.broken) throw new Error("the database is away");
    return engine.db.pipelined(statement, values);
  };
  return Object.assign(seen, { db: { ...engine.db, pipelined } });
}

describe("many requests at once", () => {
  test("share a statement if they arrive together", async () => {
    const watch = watched();
    const control = openAdmission({ db: watch.db });
    await Promise.all(Array.from({ length: 20 }, () => request(control, `Bearer ${mintApiKey()}`)));
    expect(watch.statements).toEqual([20]);
  });

  test("are sent in statements of 500 keys, two at a time, and each gets its own answer", async () => {
    const { apiKeys, keyIds } = await createKeys(engine, 2);
    const [first, second] = apiKeys;
    const keys = Array.from({ length: 2_100 }, (_, i) => (i === 0 ? first : i === 1_777 ? second : mintApiKey()));
    const released = Promise.withResolvers<void>();
    const watch = watched(released.promise);
    const control = openAdmission({ db: watch.db });
    const requests = keys.map((key) => request(control, `Bearer ${key}`));
    for (let i = 0; i < 20; i += 1) await yieldToEventLoop();
    expect(watch.statements).toEqual([500, 500]);
    released.resolve();
    const answers = await Promise.all(requests);
    const admitted = answers.flatMap((answer, i) => ("keyId" in answer ? [[i, answer.keyId]] : []));
    expect(admitted).toEqual([
      [0, keyIds[0]],
      [1_777, keyIds[1]],
    ]);
    expect(watch.statements).toEqual([500, 500, 500, 500, 100]);
  });

  test("are all refused while the database is down, and served when it is back", async () => {
    const { apiKeys } = await createKeys(engine, 1);
    const watch = watched();
    const control = openAdmission({ db: watch.db });
    watch.broken = true;
    const keys = Array.from({ length: 2_100 }, mintApiKey);
    const outcomes = await Promise.allSettled(keys.map((key) => request(control, `Bearer ${key}`)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toEqual([]);
    watch.broken = false;
    expect(await request(control, `Bearer ${apiKeys[0]}`)).toMatchObject({ remaining: 4 });
  });
});

describe("when and from where a key was last used", () => {
  async function lastUse(keyId: string | undefined): Promise<number | null> {
    const rows = await engine.db.query<{ at: Date | null }>("select last_used_at as at from api_keys where id = $1", [
      keyId,
    ]);
    return rows[0]?.at?.getTime() ?? null;
  }
  afterEach(() => void vi.useRealTimers());

  test("is written once at close, for keys that were admitted", async () => {
    const { accountId, apiKeys, keyIds } = await createKeys(engine, 2);
    const control = openAdmission();
    await request(control, `Bearer ${apiKeys[0]}`);
    await fill(control, apiKeys[0] ?? "", 4);
    await request(control, `Bearer ${apiKeys[1]}`);
    await control.close();
    expect([await lastUse(keyIds[0]), await lastUse(keyIds[1])]).toEqual([USED_MS, null]);
    await engine.db.query("update api_keys set last_used_at = null where account_id = $1", [accountId]);
    await control.close();
    expect(await lastUse(keyIds[0])).toBeNull();
  });

  test("is written once a minute, until close", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const key = await createApiKey(engine.db, engine.newId, { accountId: await engine.createAccount(), name: "test" });
    const control = openAdmission();
    await request(control, `Bearer ${key.apiKey}`);
    vi.advanceTimersByTime(59_999);
    expect(await lastUse(key.keyId)).toBeNull();
    vi.advanceTimersByTime(1);
    await until(async () => (await lastUse(key.keyId)) === USED_MS);
    await control.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is the last request of the minute, and a tool call counts as a request of its caller", async () => {
    const { apiKeys, keyIds } = await createKeys(engine, 2);
    const control = openAdmission();
    for (const address of ["192.0.2.7", "2001:db8::7", "127.0.0.1"]) {
      await requestFrom(address, control, `Bearer ${apiKeys[0]}`);
    }
    await requestFrom("127.0.0.1", control, `Bearer ${apiKeys[1]}`);
    await control.close();
    const text = "select last_used_from as address from api_keys where id = $1";
    const read = async (keyId: string | undefined) =>
      (await engine.db.query<{ address: string }>(text, [keyId]))[0]?.address;
    expect([await read(keyIds[0]), await read(keyIds[1])]).toEqual(["2001:db8::7", "127.0.0.1"]);
  });

  test("leaves no address at a key of a deleted account", async () => {
    const { accountId, apiKeys, keyIds } = await createKeys(engine, 1);
    const control = openAdmission();
    await request(control, `Bearer ${apiKeys[0]}`);
    await engine.db.tx((tx) => revokeAllKeys(tx, accountId, "deleted"));
    await control.close(); // the use is written after the deletion
    const text = "select last_used_from as address from api_keys where id = $1";
    expect([await engine.db.query(text, [keyIds[0]]), await lastUse(keyIds[0])]).toEqual([
      [{ address: null }],
      USED_MS,
    ]);
  });

  test("is lost with a warning while the database is down, and no request waits for it", async () => {
    const warnings: string[] = [];
    const noting = { ...log, warn: (_: object, text: string) => void warnings.push(text) } as unknown as Log;
    const there = await openDatabase({ url: engine.url, role: "other", log, poolMax: 2 });
    const control = openAdmission({ db: there, log: noting });
    const { apiKeys } = await createKeys(engine, 1);
    await request(control, `Bearer ${apiKeys[0]}`);
    await there.close();
    await control.close();
    await control.close(); // nothing is left to write
    expect(warnings).toEqual(["could not record when keys were last used"]);
  });
});
