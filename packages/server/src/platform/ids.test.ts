import { array, assert, constantFrom, integer, nat, property, uuid as anyUuid } from "fast-check";
import { describe, expect, test } from "vitest";
import { createIdSource, firstIdOfMs, idTimeMs, isUuid } from "./ids.ts";

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MS_MAX = 2 ** 48 - 1;
const anyMs = integer({ min: 0, max: MS_MAX });

describe("an id source", () => {
  test("makes increasing UUIDs of version 7, whether the clock stands still, jumps, or steps back", () => {
    const steps = array(constantFrom(0, 0, 0, 1, 7, 100_000, -1, -50, -3_600_000), { maxLength: 300 });
    assert(
      property(integer({ min: 2 ** 40, max: 2 ** 44 }), steps, (startMs, changes) => {
        let nowMs = startMs;
        const newId = createIdSource({ nowMs: () => nowMs });
        const ids = changes.map((change) => {
          nowMs += change;
          return newId();
        });
        expect(ids.filter((id) => !V7.test(id))).toEqual([]);
        expect(ids).toEqual([...new Set(ids)].sort());
      }),
    );
  });

  test("writes the clock's time into the id, or the latest time it has seen while the clock is behind", () => {
    let nowMs = 1_800_000_000_000;
    const newId = createIdSource({ nowMs: () => nowMs });
    expect(idTimeMs(newId())).toBe(nowMs);
    nowMs -= 5_000;
    expect(idTimeMs(newId())).toBe(1_800_000_000_000);
    nowMs += 5_001;
    expect(idTimeMs(newId())).toBe(1_800_000_000_001);
  });

  test("makes a hundred thousand ids within one millisecond, in order", () => {
    const newId = createIdSource({ nowMs: () => 1_800_000_000_000 });
    let last = "";
    for (let i = 0; i < 100_000; i += 1) {
      const id = newId();
      if (id <= last) throw new Error(`${id} came after ${last}`);
      last = id;
    }
    expect(idTimeMs(last)).toBe(1_800_000_000_000);
  });

  test("in another process makes different ids in the same millisecond", () => {
    const [one, two] = [createIdSource({ nowMs: () => 5 }), createIdSource({ nowMs: () => 5 })];
    const ids = Array.from({ length: 2_000 }, () => [one(), two()]).flat();
    expect(new Set(ids).size).toBe(4_000);
  });
});

describe("firstIdOfMs", () => {
  test("divides ids exactly by their milliseconds: not above any id of that millisecond, and above every earlier one", () => {
    assert(
      property(anyMs, integer({ min: 1, max: 10 ** 9 }), (ms, earlierBy) => {
        const id = createIdSource({ nowMs: () => ms })();
        expect(firstIdOfMs(ms) <= id).toBe(true);
        expect(idTimeMs(firstIdOfMs(ms))).toBe(ms);
        const earlierMs = Math.max(0, ms - earlierBy);
        const before = createIdSource({ nowMs: () => earlierMs })();
        expect(before < firstIdOfMs(ms)).toBe(earlierMs < ms);
      }),
    );
  });

  test.each([
    [-1, 0],
    [Number.NEGATIVE_INFINITY, 0],
    [MS_MAX + 1, MS_MAX],
    [Number.MAX_SAFE_INTEGER, MS_MAX],
  ])("for %d is that of the nearest time that an id can have", (ms, nearest) => {
    expect(firstIdOfMs(ms)).toBe(firstIdOfMs(nearest));
    expect(isUuid(firstIdOfMs(ms))).toBe(true);
  });
});

describe("isUuid", () => {
  test("accepts every UUID of any version in any case, and nothing with an extra, missing, or different character", () => {
    assert(
      property(anyUuid(), nat(35), constantFrom("", "g", " ", "00", "-"), (uuid, at, wrong) => {
        expect(isUuid(uuid)).toBe(true);
        expect(isUuid(uuid.toUpperCase())).toBe(true);
        const changed = uuid.slice(0, at) + wrong + uuid.slice(at + 1);
        expect(isUuid(changed)).toBe(changed === uuid);
      }),
    );
    expect(isUuid("00000000-0000-0000-0000-000000000000")).toBe(true);
    expect(isUuid("")).toBe(false);
  });
});
