/** The limiter's two functions, value for value, on a stopped clock: the borders that no flood meets. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { revokeApiKey } from "../../src/accounts/index.ts";
import { openEngine, stopClock, type Engine } from "../runs/engine-fixture.ts";
import { createKeys } from "./limiter-fixture.ts";

const NOW = 1_000_000_000_000_000; // microseconds since 1970
let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());
beforeEach(() => stopClock(engine.db, NOW));

const at = (...offsets: number[]) => offsets.map((us) => NOW + us);

describe("a ring", () => {
  async function take(times: readonly number[], wanted: number, limit = 5) {
    const [row] = await engine.db.query<{ times: number[]; admitted: number; wait_us: number }>(
      "select to_json(times) as times, admitted, wait_us from ring_admit($1, $2, $3)",
      [times, wanted, limit],
    );
    return row;
  }

  test.each([
    ["admits into an empty one", [], 1, { times: at(0), admitted: 1, wait_us: 0 }],
    ["admits as many as the limit", [], 7, { times: at(0, 0, 0, 0, 0), admitted: 5, wait_us: 1_000_000 }],
    ["admits none when none is wanted", at(-10), 0, { times: at(-10), admitted: 0, wait_us: 0 }],
    ["forgets what is a second old", at(-1_000_000, -999_999), 1, { times: at(-999_999, 0), admitted: 1, wait_us: 0 }],
    [
      "gives the room that is left",
      at(-4, -3, -2, -1),
      3,
      { times: at(-4, -3, -2, -1, 0), admitted: 1, wait_us: 999_996 },
    ],
    [
      "refuses when it is full",
      at(-999_999, -4, -3, -2, -1),
      1,
      { times: at(-999_999, -4, -3, -2, -1), admitted: 0, wait_us: 1 },
    ],
    [
      "orders its times",
      at(-5, -900_000, -3, -4),
      1,
      { times: at(-900_000, -5, -4, -3, 0), admitted: 1, wait_us: 100_000 },
    ],
    ["counts a time up to a second ahead", at(1_000_000), 1, { times: at(1_000_000, 0), admitted: 1, wait_us: 0 }],
    ["drops a time further ahead: the clock stepped back", at(1_000_001), 1, { times: at(0), admitted: 1, wait_us: 0 }],
  ])("%s", async (_, times, wanted, expected) => {
    expect(await take(times, wanted)).toEqual(expected);
  });

  test("longer than a limit that was lowered admits none, and loses no time", async () => {
    expect(await take(at(-4, -3, -2), 1, 2)).toEqual({ times: at(-4, -3, -2), admitted: 0, wait_us: 999_996 });
  });
});

describe("the admission statement", () => {
  interface Entry {
    readonly nth: number;
    readonly account_id: string;
    readonly admitted: number;
    readonly rank: number;
    readonly used: number;
    readonly wait_us: number;
    readonly pro: boolean;
  }
  const hashOf = (apiKey: string | undefined) =>
    createHash("sha256")
      .update(apiKey ?? "")
      .digest();

  function admit(apiKeys: readonly (string | undefined)[], isPerKey = false): Promise<Entry[]> {
    return engine.db.query<Entry>(
      "select nth, account_id, admitted, rank, used, wait_us, pro from admit_keys($1, 5, $2) order by nth",
      [apiKeys.map(hashOf), isPerKey],
    );
  }
  const columns = (entries: readonly Entry[]) =>
    entries.map(({ nth, admitted, rank, used, wait_us }) => [nth, admitted, rank, used, wait_us]);

  test("counts a batch by account, leaves unknown keys out, and counts revoked ones nowhere", async () => {
    const [one, other, gone] = [await createKeys(engine, 2), await createKeys(engine, 1), await createKeys(engine, 1)];
    const [a, b, c, d] = [one.apiKeys[0], one.apiKeys[1], other.apiKeys[0], gone.apiKeys[0]];
    await revokeApiKey(engine.db, gone.keyIds[0] ?? "");
    const entries = await admit([a, "unknown", b, d, c, a, a, a, a]);
    const full = 1_000_000;
    expect(columns(entries)).toEqual([
      [1, 5, 1, 5, full],
      [3, 5, 2, 5, full],
      [4, 0, 0, 0, 0],
      [5, 1, 1, 1, full],
      [6, 5, 3, 5, full],
      [7, 5, 4, 5, full],
      [8, 5, 5, 5, full],
      [9, 5, 6, 5, full],
    ]);
    expect(entries[3]?.account_id).toBe(other.accountId);
  });

  test("finds room again when the oldest admission is a second old, and not before", async () => {
    const { apiKeys } = await createKeys(engine, 1);
    const six = Array.from({ length: 6 }, () => apiKeys[0]);
    expect(columns(await admit(six)).at(-1)).toEqual([6, 5, 6, 5, 1_000_000]);
    await stopClock(engine.db, NOW + 999_999);
    expect(columns(await admit(six)).at(0)).toEqual([1, 0, 1, 5, 1]);
    await stopClock(engine.db, NOW + 1_000_000);
    expect(columns(await admit(six.slice(2))).at(-1)).toEqual([4, 4, 4, 4, 1_000_000]);
  });

  test("gives each account of a batch its own room, also to those it knows already", async () => {
    const [one, other] = [await createKeys(engine, 1), await createKeys(engine, 1)];
    const batch = [one.apiKeys[0], one.apiKeys[0], one.apiKeys[0], other.apiKeys[0]];
    for (const offset of [0, 1_000_000]) {
      await stopClock(engine.db, NOW + offset);
      expect(columns(await admit(batch)).map(([, admitted]) => admitted)).toEqual([3, 3, 3, 1]);
    }
  });

  test("counts each key alone where the operator chose so", async () => {
    const { apiKeys } = await createKeys(engine, 2);
    const [a, b] = apiKeys;
    expect(columns(await admit([a, a, b], true))).toEqual([
      [1, 2, 1, 2, 1_000_000],
      [2, 2, 2, 2, 1_000_000],
      [3, 1, 1, 1, 1_000_000],
    ]);
  });

  test("takes a plan for ended at its very end", async () => {
    const { accountId, apiKeys } = await createKeys(engine, 1);
    const proAt = async (us: number) => {
      await engine.db.query("update accounts set pro_until = to_timestamp($1 / 1000000.0) where id = $2", [
        us,
        accountId,
      ]);
      return (await admit(apiKeys))[0]?.pro;
    };
    expect([await proAt(NOW), await proAt(NOW + 1)]).toEqual([false, true]);
  });

  test("names a wait of at least a microsecond, however late its answer is worked out", async () => {
    const { apiKeys } = await createKeys(engine, 1);
    await engine.db.query("create sequence two_seconds_each");
    await engine.db.query(`create or replace function promptd_now() returns timestamptz language sql volatile
      as $$ select to_timestamp(1000000 + 2 * nextval('two_seconds_each')) $$`);
    expect(columns(await admit(apiKeys))).toEqual([[1, 1, 1, 1, 1]]);
  });
});
