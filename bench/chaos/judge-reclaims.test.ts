/** The verdict on synthetic histories: only time that the machine withheld excuses a wait. */
import { describe, expect, test } from "vitest";
import { judgeReclaims, summarizeReclaims, type Surroundings } from "./judge-reclaims.ts";
import type { Reclaim } from "./trace.ts";

const DIED_AT_MS = 1_000_000;

function reclaimAfter(claimedMs: number | null): Reclaim {
  return { runId: "r", worker: "w", diedAtMs: DIED_AT_MS, freedMs: claimedMs, claimedMs, isEnded: false };
}

/** The machine's state from the death on, for this many milliseconds. */
function slowedBy(factor: number, ms = 1_000_000): Surroundings {
  return { outages: [], leaseMs: 1_000, slowdowns: [{ fromMs: DIED_AT_MS, toMs: DIED_AT_MS + ms, factor }] };
}

const late = (claimedMs: number, surroundings: Surroundings) => judgeReclaims([reclaimAfter(claimedMs)], surroundings);

describe("the verdict on reclaims", () => {
  test.each([1, 1.5, 2])("is ten seconds on a machine with a slowdown of %d", (factor) => {
    expect(late(9_999, slowedBy(factor))).toEqual([]);
    expect(late(10_000, slowedBy(factor))).toEqual([
      "claimed again too late: p99 10000 ms with database and processor, 10000 ms in all",
    ]);
  });

  test("counts a second after the lease in proportion to what a starved machine granted", () => {
    expect(late(27_000, slowedBy(5))).toEqual([]);
    expect(late(37_000, slowedBy(5))).toEqual([expect.stringMatching(/p99 10000 ms .* 37000 ms in all/)]);
  });

  test("counts the lease in full", () => {
    expect(late(21_990, { ...slowedBy(5), leaseMs: 6_000 })).toEqual([]);
    expect(late(22_000, { ...slowedBy(5), leaseMs: 6_000 })).toHaveLength(1);
  });

  test("is not excused by starvation before, after, or during part of the wait", () => {
    const starved = { fromMs: DIED_AT_MS + 20_000, toMs: DIED_AT_MS + 90_000, factor: 50 };
    expect(late(20_000, { ...slowedBy(1), slowdowns: [starved] })).toHaveLength(1);
    expect(late(20_000, slowedBy(5, 5_000))).toHaveLength(1);
  });

  test("has a limit on the most starved machine", () => {
    expect(late(45_990, slowedBy(1_000))).toEqual([]);
    expect(late(46_000, slowedBy(1_000))).toHaveLength(1);
  });

  test("excludes the time without the database and without the machine, and overlapping time only once", () => {
    const surroundings = {
      ...slowedBy(5),
      outages: [{ fromMs: DIED_AT_MS + 1_000, toMs: DIED_AT_MS + 13_000 }],
    };
    const { reclaimMs, reclaimWithDatabaseMs, reclaimOwnMs } = summarizeReclaims([reclaimAfter(20_000)], surroundings);
    expect([reclaimMs.p99, reclaimWithDatabaseMs.p99, reclaimOwnMs.p99]).toEqual([20_000, 8_000, 2_750]);
  });

  test("names runs that were never claimed, however starved the machine was", () => {
    expect(judgeReclaims([reclaimAfter(null)], slowedBy(1_000))).toEqual([
      "never claimed again after its worker died: r",
    ]);
  });

  test("allows one in a hundred: a single slow claim among many passes", () => {
    const many = Array.from({ length: 200 }, (_, i) => reclaimAfter(i === 0 ? 30_000 : 1_000));
    expect(judgeReclaims(many, slowedBy(1))).toEqual([]);
  });
});
