import { afterEach, expect, test, vi } from "vitest";
import { formatDuration, nameIn } from "./format.ts";

afterEach(() => vi.unstubAllEnvs());

test("a name with bidirectional controls cannot reorder the sentence around it", () => {
  expect(`Revoke “${nameIn("shop \u202egnihtyreve\u2067")}”?`).toBe("Revoke “shop gnihtyreve”?");
  expect(`Remove ${nameIn("\u2069אדה")}?`).toBe("Remove \u2068אדה\u2069?");
  expect(nameIn("Ada")).toBe("Ada");
});

test("a duration is rounded as a whole, so no minute has sixty seconds", () => {
  const shown = [999, 1_000, 59_400, 59_900, 90_000, 599_996, 600_004].map(formatDuration);
  expect(shown).toEqual(["999 ms", "1.0 s", "59.4 s", "1 min", "1 min 30 s", "10 min", "10 min"]);
});

test("a date without a time is the same day in every time zone, and a time is local", async () => {
  vi.stubEnv("TZ", "America/Los_Angeles");
  vi.resetModules();
  const { formatDay, formatMoment } = await import("./format.ts");
  expect(formatDay("2026-12-01")).toBe("Dec 1, 2026");
  expect(formatDay("2026-12-01T04:05:06.000Z")).toBe("Nov 30, 2026");
  expect(formatMoment("2026-12-01T08:05:06.000Z")).toBe("Dec 1, 2026, 00:05:06");
});
