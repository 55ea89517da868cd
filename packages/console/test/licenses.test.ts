/** The build contains third-party code, whose licenses must accompany it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DIST } from "./support/build.ts";

const PACKAGE = join(import.meta.dirname, "../package.json");

/** Package name -> its license section in the build. */
function sectionsOfBuild(): Map<string, string> {
  const parts = readFileSync(join(DIST, "licenses.md"), "utf8").split(/^## (?=\S+ (?:- \d|\())/m);
  return new Map(parts.slice(1).map((part) => [part.split(" ", 1)[0] ?? "", part]));
}

test("the build has the license text of every package in it, including fonts", () => {
  const sections = sectionsOfBuild();
  const { dependencies } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { dependencies: Record<string, string> };
  const others = Object.keys(dependencies).filter((name) => !name.startsWith("@promptd/"));
  expect(others.filter((name) => !sections.has(name))).toEqual([]);
  const withoutText = [...sections].filter(([, text]) => !/copyright|permission/i.test(text)).map(([name]) => name);
  expect(withoutText).toEqual([]);
  expect(sections.get("react")).toContain("Permission is hereby granted, free of charge");
  expect(sections.get("@fontsource-variable/inter")).toContain("SIL OPEN FONT LICENSE Version 1.1");
});
