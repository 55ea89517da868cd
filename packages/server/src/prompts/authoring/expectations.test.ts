import { expect, test } from "vitest";
import { compareText } from "./expectations.ts";

test("every expectation of a text must be met, and each one that is not is reported", async () => {
  expect(await compareText("Tea is ready", { contains: ["Tea"], matches: "^[A-Z]", shorterThan: 13 })).toEqual([]);
  expect(
    await compareText("tea", { contains: ["Tea"], notContains: ["tea"], matches: "^[A-Z]", shorterThan: 3 }),
  ).toEqual([
    'contains: "Tea" is missing.',
    'notContains: "tea" is present.',
    "matches: ^[A-Z] does not match.",
    "shorterThan: the text has 3 characters; expected fewer than 3.",
  ]);
});

test("a regular expression that takes exponential time blocks nothing, and fails", async () => {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 50);
  const failures = await compareText(`${"a".repeat(60)}!`, { matches: "^(a+)+$" }, { matchMsMax: 1_000 });
  clearInterval(timer);
  expect(failures).toEqual(["matches: ^(a+)+$ took too long. Rewrite it without nested quantifiers."]);
  expect(ticks).toBeGreaterThan(3);
});
