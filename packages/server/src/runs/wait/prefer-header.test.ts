import { describe, expect, test } from "vitest";
import { describeApplied, readPreferences } from "./prefer-header.ts";

describe("the Prefer header", () => {
  test.each([
    [null, null, false],
    ["", null, false],
    ["wait=5", 5, false],
    ["Wait=5", 5, false],
    ['wait="5"', 5, false],
    ["wait = 5", 5, false],
    ["respond-async", null, true],
    ["respond-async, wait=10", 10, true],
    ["wait=10; x=1, respond-async", 10, true],
    ["wait=3, wait=9", 3, false],
    ["wait=99999999999999999999", 2_147_483_648, false],
    ['wait=3, foo="bar, wait=9', 3, false],
    ['"', null, false],
    ['respond-async, "a\\', null, true],
    ["wait=-1", null, false],
    ["wait=1.5", null, false],
    ["wait", null, false],
    ["handling=lenient", null, false],
  ])("%j requests wait %j and async %j", (header, waitSeconds, respondAsync) => {
    expect(readPreferences(header)).toEqual({ waitSeconds, respondAsync, stream: false });
  });

  test.each(['foo="bar, wait=0"; x=1', 'foo="a\\", wait=0, b"', "foo=1; wait=0", 'foo; x="y, respond-async"'])(
    "finds nothing inside quotes and parameters: %s",
    (header) => {
      expect(readPreferences(header)).toEqual({ waitSeconds: null, respondAsync: false, stream: false });
    },
  );

  // A pattern that goes back and forth in it would need hours.
  test.each([
    ["spaces", `a${" ".repeat(2 ** 20)}b`],
    ["quotes", '"\\'.repeat(2 ** 19)],
  ])("is read in one pass, however many %s it has", (_, header) => {
    expect(readPreferences(`${header}, wait=5`).respondAsync).toBe(false);
  });

  test("is answered with what was honored here", () => {
    const preferences = readPreferences("respond-async, wait=4, stream");
    expect(describeApplied(preferences, { creates: true })).toBe("respond-async, stream, wait=4");
    expect(describeApplied(preferences, { creates: false })).toBe("wait=4");
    expect(describeApplied(readPreferences("x=1"), { creates: true })).toBeNull();
  });
});
