import { describe, expect, test } from "vitest";
import { compareVersions } from "./version.ts";

/** The example from https://semver.org, 11, with releases around it; a missing version is older than any. */
const ASCENDING = [
  "",
  "0.1.0",
  "0.1.1",
  "0.10.0",
  "1.0.0-alpha",
  "1.0.0-alpha.1",
  "1.0.0-alpha.beta",
  "1.0.0-beta",
  "1.0.0-beta.2",
  "1.0.0-beta.11",
  "1.0.0-rc.1",
  "1.0.0",
  "1.0.1-0",
  "1.0.1",
];

describe("versions", () => {
  test("are ordered as semantic versions, pre-releases before their release", () => {
    for (const [i, a] of ASCENDING.entries()) {
      for (const [j, b] of ASCENDING.entries()) {
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)]);
      }
    }
  });

  test("of two builds are equal: what follows a plus sign does not count", () => {
    expect(compareVersions("1.0.0+20261122", "1.0.0+20261123")).toBe(0);
    expect(compareVersions("1.0.0-rc.1+5", "1.0.0-rc.1")).toBe(0);
  });
});
