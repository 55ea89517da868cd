/** The limiter's two functions, value by value, on a stopped clock: the edge cases that no flood reaches. */
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
  interface Ring {
    readonly times: readonly number[];
    /** For each time. */
    readonly counts: readonly number[];
    /** The sum of the counts; null: a row of an earlier promptd. */
    readonly used: number | null;
  }
  const ringOf = (times: readonly number[], counts: readonly number[] = times.map(() => 1)): Ring => ({
    times,
    counts,
    used: counts.reduce((sum, count) => sum + count, 0),
  });

  async function take({ times, counts, used }: Ring, wanted: number, limit = 5) {
    const [row] = await engine.db.query<Ring & { admitted: number }>(
      "select to_json(times) as times, to_json(counts) as counts, used, admitted from take_from_ring($1, $2, $3, $4, $5)",
      [times, counts, used, wanted, limit],
    );
    return row;
  }

  test.each([
    ["admits into an empty one", ringOf([]), 1, { ...ringOf(at(0)), admitted: 1 }],
    ["admits as many as the limit", ringOf([]), 7, { ...ringOf(at(0), [5]), admitted: 5 }],
    ["admits none if none are wanted", ringOf(at(-10)), 0, { ...ringOf(at(-10)), admitted: 0 }],
    [
      "drops times that are a second old",
      ringOf(at(-1_000_000, -999_999), [4, 1]),
      1,
      { ...ringOf(at(-999_999, 0)), admitted: 1 },
    ],
    [
      "grants the room that is left",
      ringOf(at(-4, -3), [2, 2]),
      3,
      { ...ringOf(at(-4, -3, 0), [2, 2, 1]), admitted: 1 },
    ],
    [
      "refuses when it is full",
      ringOf(at(-999_999, -4, -3), [1, 2, 2]),
      1,
      { ...ringOf(at(-999_999, -4, -3), [1, 2, 2]), admitted: 0 },
    ],
    [
      "counts under its last time if the clock stepped back a little",
      ringOf(at(-900_000, 5, 7), [1, 2, 1]),
      1,
      { ...ringOf(at(-900_000, 5, 7), [1, 2, 2]), admitted: 1 },
    ],
    ["counts requests of one moment together", ringOf(at(0), [2]), 1, { ...ringOf(at(0), [3]), admitted: 1 }],
    [
      "starts over if an earlier promptd wrote no total",
      { ...ringOf(at(-2, -1), []), used: null },
      4,
      { ...ringOf(at(0), [4]), admitted: 4 },
    ],
    [
      "repairs its total once it is empty, whatever an earlier promptd left in it",
      { ...ringOf(at(-1_000_000), [2]), used: 7 },
      1,
      { ...ringOf(at(0)), admitted: 1 },
    ],
    ["counts a time up to a second ahead", ringOf(at(1_000_000)), 1, { ...ringOf(at(1_000_000), [2]), admitted: 1 }],
    [
      "drops all times further ahead, and keeps what it counted before",
      ringOf(at(-5, 1_000_001, 1_000_002), [1, 2, 1]),
      1,
      { ...ringOf(at(-5, 0)), admitted: 1 },
    ],
    ["drops a time further ahead: the clock stepped back", ringOf(at(1_000_001)), 1, { ...ringOf(at(0)), admitted: 1 }],
  ])("%s", async (_, ring, wanted, expected) => {
    expect(await take(ring, wanted)).toEqual(expected);
  });

  test("longer than a lowered limit admits nothing, and loses no time", async () => {
    const ring = ringOf(at(-4, -3), [2, 1]);
    expect(await take(ring, 1, 2)).toEqual({ ...ring, admitted: 0 });
  });

  test("for more than 100 requests per second counts a request from the end of its 10 ms, and so never admits more", async () => {
    const counted = async (offset: number, ring: Ring, limit = 101) => {
      await stopClock(engine.db, NOW + offset);
      return take(ring, 1, limit);
    };
    expect(await counted(1, ringOf([]), 100)).toMatchObject(ringOf(at(1)));
    expect(await counted(1, ringOf([]))).toMatchObject(ringOf(at(10_000)));
    expect(await counted(9_999, ringOf(at(10_000)))).toMatchObject(ringOf(at(10_000), [2]));
    expect(await counted(10_000, ringOf(at(10_000), [2]))).toMatchObject(ringOf(at(10_000), [3]));
    expect(await counted(10_001, ringOf(at(10_000), [3]))).toMatchObject(ringOf(at(10_000, 20_000), [3, 1]));
    const full = ringOf(at(10_000), [101]);
    expect(await counted(1_009_999, full)).toMatchObject({ ...full, admitted: 0 });
    expect(await counted(1_010_000, full)).toMatchObject({ ...ringOf(at(1_010_000)), admitted: 1 });
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
      "select nth, account_id, admitted, rank, used, wait_us, pro from admit_requests($1, 5, $2) order by nth",
      [apiKeys.map(hashOf), isPerKey],
    );
  }
  const columns = (entries: readonly Entry[]) =>
    entries.map(({ nth, admitted, rank, used, wait_us }) => [nth, admitted, rank, used, wait_us]);

  test("counts a batch by account, leaves out unknown keys, and does not count revoked keys", async () => {
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

  test("has room again when the oldest admission is a second old, and not before", async () => {
    const { apiKeys } = await createKeys(engine, 1);
    const six = Array.from({ length: 6 }, () => apiKeys[0]);
    expect(columns(await admit(six)).at(-1)).toEqual([6, 5, 6, 5, 1_000_000]);
    await stopClock(engine.db, NOW + 999_999);
    expect(columns(await admit(six)).at(0)).toEqual([1, 0, 1, 5, 1]);
    await stopClock(engine.db, NOW + 1_000_000);
    expect(columns(await admit(six.slice(2))).at(-1)).toEqual([4, 4, 4, 4, 1_000_000]);
  });

  test("gives each account of a batch its own limit, also accounts that it already knows", async () => {
    const [one, other] = [await createKeys(engine, 1), await createKeys(engine, 1)];
    const batch = [one.apiKeys[0], one.apiKeys[0], one.apiKeys[0], other.apiKeys[0]];
    for (const offset of [0, 1_000_000]) {
      await stopClock(engine.db, NOW + offset);
      expect(columns(await admit(batch)).map(([, admitted]) => admitted)).toEqual([3, 3, 3, 1]);
    }
  });

  test("counts each key separately if the operator chose that", async () => {
    const { apiKeys } = await createKeys(engine, 2);
    const [a, b] = apiKeys;
    expect(columns(await admit([a, a, b], true))).toEqual([
      [1, 2, 1, 2, 1_000_000],
      [2, 2, 2, 2, 1_000_000],
      [3, 1, 1, 1, 1_000_000],
    ]);
  });

  test("treats a plan as ended at its very end", async () => {
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

  test("treats a key as expired at its very end, and no longer counts it", async () => {
    const { apiKeys, keyIds } = await createKeys(engine, 1);
    const expireAt = async (us: number) => {
      const text = "update api_keys set expires_at = to_timestamp($1 / 1000000.0) where id = $2";
      await engine.db.query(text, [us, keyIds[0]]);
      const [row] = await engine.db.query<{ expired: boolean; admitted: number }>(
        "select expired_at is not null as expired, admitted from admit_requests($1, 5, false)",
        [apiKeys.map(hashOf)],
      );
      return row;
    };
    expect(await expireAt(NOW)).toEqual({ expired: true, admitted: 0 });
    expect(await expireAt(NOW + 1)).toEqual({ expired: false, admitted: 1 });
  });

  test("reports a wait of at least a microsecond, however late the answer is computed", async () => {
    const { apiKeys } = await createKeys(engine, 1);
    await engine.db.query("create sequence two_seconds_each");
    await engine.db.query(`create or replace function promptd_now() returns timestamptz language sql volatile
      as $$ select to_timestamp(1000000 + 2 * nextval('two_seconds_each')) $$`);
    expect(columns(await admit(apiKeys))).toEqual([[1, 1, 1, 1, 1]]);
  });
});
