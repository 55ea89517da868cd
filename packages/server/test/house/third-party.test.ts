import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeThirdParty } from "../../../../scripts/third-party.ts";

const ROOT = join(import.meta.dirname, "../../../..");

test("THIRD-PARTY.md lists every production dependency as installed; run npm run notice to rewrite it", () => {
  expect(readFileSync(join(ROOT, "THIRD-PARTY.md"), "utf8")).toBe(describeThirdParty());
});

test("each has a version, a license and a copyright holder, and libvips is named as LGPL-3.0", () => {
  const rows = describeThirdParty()
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(1);
  expect(rows.length).toBeGreaterThan(50);
  for (const row of rows) expect(row).toMatch(/^\| \S+ \| \d\S* \| [^|]*[A-Z][^|]* \| [^|{[]+ \|$/);
  expect(rows.find((row) => row.includes("@img/sharp-libvips-linux-x64"))).toContain("LGPL-3.0-or-later");
});
