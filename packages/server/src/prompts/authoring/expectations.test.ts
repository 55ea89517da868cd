import { expect, test } from "vitest";
import { compareText } from "./expectations.ts";

test("all that is expected of a text must hold, and what does not is said", async () => {
  expect(await compareText("Tea is ready", { contains: ["Tea"], matches: "^[A-Z]", shorterThan: 13 })).toEqual([]);
  expect(
    await compareText("tea", { contains: ["Tea"], notContains: ["tea"], matches: "^[A-Z]", shorterThan: 3 }),
  ).toEqual([
    'contains: "Tea" is missing.',
    'notContains: "tea" is there.',
    "matches: ^[A-Z] does not match.",
    "shorterThan: it has 3 characters, not fewer than 3.",
  ]);
});

test("a regular expression that takes exponential time holds up nobody, and is a failure", async () => {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 50);
  const failures = await compareText(`${"a".repeat(60)}!`, { matches: "^(a+)+$" }, { matchMsMax: 1_000 });
  clearInterval(timer);
  expect(failures).toEqual(["matches: ^(a+)+$ took too long. Write it without nested repeats."]);
  expect(ticks).toBeGreaterThan(3);
});
