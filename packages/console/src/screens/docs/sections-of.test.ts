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

test("a guide falls into parts by its headings, with the anchors that GitHub gives them", () => {
  const parts = partsOf("api", GUIDE);
  expect(parts.map(({ heading, anchor }) => [heading, anchor])).toEqual([
    ["The API", "the-api"],
    ["Errors and status", "errors-and-status"],
    ["GET /v1/me", "get-v1me"],
  ]);
  expect(parts[1]?.text).toContain("See limits.");
  expect(anchorOf("PROMPTD_PORT")).toBe("promptdport");
});

test("a search needs every word, and prefers headings", () => {
  const parts = partsOf("api", GUIDE);
  expect(searchParts(parts, "codes errors").map(({ part }) => part.heading)).toEqual(["Errors and status"]);
  expect(searchParts(parts, "api")[0]?.part.heading).toBe("The API");
  expect(searchParts(parts, "nothing")).toEqual([]);
  expect(searchParts(parts, "  ")).toEqual([]);
});
