import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { ENDPOINTS, ERRORS } from "@promptd/contract";
import { AUTHOR_COMMANDS } from "../../../cli/src/commands/author-commands.ts";
import { END_USER_COMMANDS } from "../../../cli/src/end-user-commands.ts";
import { OPERATOR_COMMANDS } from "../../../cli/src/operator-commands.ts";
import { partsOf } from "../../../console/src/screens/docs/sections-of.ts";
import { GENERATED_PARTS, placePart } from "../../../../scripts/generated-docs.ts";
import { CHART_FILE, drawChart } from "../../../../scripts/performance-chart.ts";
import { SERVICE_KEYS } from "../../src/platform/config/service-keys.ts";
import { SETTINGS } from "../../src/platform/config/settings.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const read = (page: string) => readFileSync(join(ROOT, page), "utf8");

describe("the documentation names", () => {
  test.each([...Object.keys(SETTINGS), ...Object.keys(SERVICE_KEYS)])(
    "the setting %s under a heading of its own",
    (name) => {
      expect(read("docs/settings.md")).toContain(`### ${name}\n`);
    },
  );
  test.each(Object.keys(ERRORS))("the error code %s", (code) => {
    expect(read("docs/api.md")).toContain(`\`${code}\``);
  });
  test.each(Object.values(ENDPOINTS))("the endpoint $method $path", ({ method, path }) => {
    expect(read("docs/api.md")).toContain(`\`${method} ${path}\``);
  });
  test.each(Object.keys({ ...END_USER_COMMANDS, ...AUTHOR_COMMANDS, ...OPERATOR_COMMANDS }))(
    "the command promptd %s",
    (name) => {
      expect(read("docs/cli.md")).toContain(`### promptd ${name}\n`);
    },
  );
});

test.each(GENERATED_PARTS)(
  "the part $name of $page is what the code says; run npm run docs to write it anew",
  async (part) => {
    const page = read(part.page);
    expect(placePart(page, part.name, await part.text())).toBe(page);
  },
);

test("the README's chart shows the last record if that is a quiet one; run npm run docs to redraw it", () => {
  expect(existsSync(join(ROOT, CHART_FILE)) ? read(CHART_FILE) : null).toBe(drawChart());
});

test("every decision is listed in the index of decisions", () => {
  const pages = globSync("docs/decisions/2*.md", { cwd: ROOT }).map((path) => path.slice("docs/decisions/".length));
  const listed = [...read("docs/decisions/README.md").matchAll(/^- \[.+\]\((.+)\)$/gm)].map(([, page = ""]) => page);
  expect(listed.toSorted()).toEqual(pages.toSorted());
});

test("every link between pages leads somewhere", () => {
  const pages = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    ...globSync("docs/**/*.md", { cwd: ROOT }),
  ];
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
      .map((match) => normalize(join(dirname(page), match[1] ?? "")))
      .filter((target) => !existsSync(join(ROOT, target)))
      .map((target) => `${page} -> ${target}`),
  );
  expect(broken).toEqual([]);
});

test("every link to a part of a page leads to one of its headings, here and in the console", () => {
  const anchors = (page: string) => new Set(partsOf(page, read(page)).map(({ anchor }) => anchor));
  const broken = ["README.md", ...globSync("docs/*.md", { cwd: ROOT })].flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)].flatMap(([, path = "", anchor = ""]) => {
      const target = path === "" ? page : normalize(join(dirname(page), path));
      return target.endsWith(".md") && !anchors(target).has(anchor) ? [`${page} -> ${target}#${anchor}`] : [];
    }),
  );
  expect(broken).toEqual([]);
});

test("the console lists every page of docs/ under its heading, and no missing page", () => {
  const guides = read("packages/console/src/screens/docs/guides.ts");
  const listed = [...guides.matchAll(/\bname: "([a-z-]+)",\s+title: "([^"]+)"/g)].map(([, name, title]) => [
    name,
    title,
  ]);
  const pages = globSync("*.md", { cwd: join(ROOT, "docs") }).map((page) => [
    page.replace(".md", ""),
    /^# (.+)$/m.exec(read(`docs/${page}`))?.[1],
  ]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(pages));
});

test("no published text mentions paths of a machine", () => {
  const pages = ["README.md", ...globSync("docs/**/*.md", { cwd: ROOT })];
  expect(pages.filter((page) => /\/(home|root|Users)\/[a-z]/.test(read(page)))).toEqual([]);
});
