import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFailedAdmissions, networkOf } from "./failed-admissions.ts";

describe("createFailedAdmissions", () => {
  test("records at most the limit in any second, whatever the times", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 }), (gaps) => {
        let now = 0;
        const entries = createFailedAdmissions(5, () => now);
        const noted: number[] = [];
        for (const gap of gaps) {
          now += gap;
          if (entries.note("192.0.2.1")) noted.push(now);
        }
        for (const at of noted)
          expect(noted.filter((other) => other > at - 1_000 && other <= at).length).toBeLessThanOrEqual(5);
      }),
    );
  });

  test("lets an address fail again exactly one second later, and counts each address separately", () => {
    let now = 0;
    const entries = createFailedAdmissions(2, () => now);
    expect([entries.note("a"), entries.note("a"), entries.note("a"), entries.note("b")]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    now = 999;
    expect(entries.note("a")).toBe(false);
    now = 1_000;
    expect(entries.note("a")).toBe(true);
  });

  test("drops the least recently used address when there are too many", () => {
    const entries = createFailedAdmissions(1, () => 0);
    entries.note("first");
    for (let i = 0; i < 10_000; i += 1) entries.note(`address ${i}`);
    expect(entries.note("first")).toBe(true);
    expect(entries.note("address 9999")).toBe(false);
  });

  test("remembers ten thousand addresses, and an address that returns for longer than one that does not", () => {
    const entries = createFailedAdmissions(1, () => 0);
    entries.note("first");
    for (let i = 0; i < 9_999; i += 1) entries.note(`address ${i}`);
    expect(entries.note("first")).toBe(false);
    entries.note("one more");
    expect([entries.note("first"), entries.note("address 0")]).toEqual([false, true]);
  });
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0db8:0001:0002:ffff::", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::ffff:203.113.200.100", "203.113.200.100"],
  ["1::ffff:192.0.2.7", "1:0:0:0::/64"],
  ["::ffff:1.2.3.4.5", "::ffff:1.2.3.4.5"],
  ["2001:db8::", "2001:db8:0:0::/64"],
  ["2001:db8::1:2:3:4:5", "2001:db8:0:1::/64"],
  ["::2:3:4:5:6:7:8", "0:2:3:4::/64"],
  ["2001::3:4:5:6:192.0.2.7", "2001:0:3:4::/64"],
  ["64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"],
  ["", ""],
])("networkOf(%j) is %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
