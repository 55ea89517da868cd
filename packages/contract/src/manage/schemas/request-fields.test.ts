import { expect, test } from "vitest";
import { emailField, momentField } from "./request-fields.ts";

const moment = momentField("until");

test("a time has an offset and becomes UTC", () => {
  expect(moment.parse("2026-12-31T23:59:59+01:00")).toBe("2026-12-31T22:59:59.000Z");
  expect(moment.safeParse("2026-12-31T23:59:59").success).toBe(false);
  expect(moment.safeParse("2026-12-31").success).toBe(false);
});

test("a mebibyte that is not a time is read in one pass", () => {
  expect(moment.safeParse("T".repeat(2 ** 20)).success).toBe(false); // going back and forth in it would take hours
});

test.each(["a\u001b[31m@example.org", "a\u009b@example.org", "a\u202eb@example.org", "a\u2067@example.org"])(
  "an email address does not change how the text around it reads: %j",
  (email) => {
    expect(emailField.safeParse(email).success).toBe(false);
  },
);
