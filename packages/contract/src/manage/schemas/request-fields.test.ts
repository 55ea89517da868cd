import { expect, test } from "vitest";
import { momentField } from "./request-fields.ts";

const moment = momentField("until");

test("a time has an offset and becomes UTC", () => {
  expect(moment.parse("2026-12-31T23:59:59+01:00")).toBe("2026-12-31T22:59:59.000Z");
  expect(moment.safeParse("2026-12-31T23:59:59").success).toBe(false);
  expect(moment.safeParse("2026-12-31").success).toBe(false);
});

test("a mebibyte that is not a time is read in one pass", () => {
  expect(moment.safeParse("T".repeat(2 ** 20)).success).toBe(false); // going back and forth in it would take hours
});
