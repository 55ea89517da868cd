import { expect, test } from "vitest";
import { anchorOf, partsOf, searchParts } from "./sections-of.ts";

const GUIDE = `# The API

Everything begins with a key.

## Errors and \`status\`

Ten codes. See [limits](limits.md).

\`\`\`sh
# no heading
\`\`\`

### GET /v1/me
Who am I.
`;

test("a guide is split by its headings, with GitHub's anchors", () => {
  const parts = partsOf("api", GUIDE);
  expect(parts.map(({ heading, anchor }) => [heading, anchor])).toEqual([
    ["The API", "the-api"],
    ["Errors and status", "errors-and-status"],
    ["GET /v1/me", "get-v1me"],
  ]);
  expect(parts[1]?.text).toContain("See limits.");
  expect(anchorOf("PROMPTD_PORT")).toBe("promptd_port");
});

test("an excerpt starts and ends with whole words and omits table delimiter rows", () => {
  const long = `# Limits\n\n| What | How many |\n|---|---:|\n${"several words before it ".repeat(9)}needle${" and others behind".repeat(20)}`;
  const [found] = searchParts(partsOf("limits", long), "needle");
  expect(found?.excerpt).toMatch(/^… (words before it|before it|it|several words before it) .*\bneedle and .*\w …$/);
  const words = new Set("several words before it needle and others behind …".split(" "));
  expect(found?.excerpt.split(" ").filter((word) => !words.has(word))).toEqual([]);
  expect(searchParts(partsOf("limits", long), "what")[0]?.excerpt).toMatch(/^What How many several words/);
});

test("a search requires every word and prefers headings", () => {
  const parts = partsOf("api", GUIDE);
  expect(searchParts(parts, "codes errors").map(({ part }) => part.heading)).toEqual(["Errors and status"]);
  expect(searchParts(parts, "api")[0]?.part.heading).toBe("The API");
  expect(searchParts(parts, "nothing")).toEqual([]);
  expect(searchParts(parts, "  ")).toEqual([]);
});
