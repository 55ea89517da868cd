import { describe, expect, test } from "vitest";
import { fromLocal, spanOf, startOfToday, toLocal } from "./time-span.ts";

const NOW_MS = Date.parse("2026-11-28T12:00:30Z");

describe("a time range", () => {
  test.each([
    [{}, {}],
    [{ time: "1h" }, { since: NOW_MS - 3_600_000 }],
    [{ time: "30d" }, { since: NOW_MS - 30 * 86_400_000 }],
    [{ time: "between" }, {}],
    [{ since: "2026-11-27T08:00Z" }, {}],
    [{ time: "between", since: "2026-11-27T08:00Z" }, { since: Date.parse("2026-11-27T08:00:00Z") }],
    [{ time: "between", until: "2026-11-27T08:00Z" }, { until: Date.parse("2026-11-27T08:01:00Z") }],
  ] as const)("%j is %j", (search, span) => {
    expect(spanOf(search, NOW_MS)).toEqual(span);
  });

  test("includes its last minute, whichever end was entered first", () => {
    const [since, until] = ["2026-11-27T08:00Z", "2026-11-27T09:00Z"];
    const span = { since: Date.parse("2026-11-27T08:00:00Z"), until: Date.parse("2026-11-27T09:01:00Z") };
    expect(spanOf({ time: "between", since, until }, NOW_MS)).toEqual(span);
    expect(spanOf({ time: "between", since: until, until: since }, NOW_MS)).toEqual(span);
    const minute = spanOf({ time: "between", since, until: since }, NOW_MS);
    expect((minute.until ?? 0) - (minute.since ?? 0)).toBe(60_000);
  });

  test("is entered in local time, and an empty time is none", () => {
    expect(fromLocal(toLocal("2026-11-27T08:00Z"))).toBe("2026-11-27T08:00Z");
    expect(toLocal(startOfToday(NOW_MS))).toMatch(/^2026-11-2[789]T00:00$/);
    expect([toLocal(undefined), fromLocal("")]).toEqual(["", undefined]);
  });
});
