import { expect, test } from "vitest";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setup } from "./fake-service.ts";
import { version } from "./sample-prompt.ts";

const NAMED = { ...version, slug: "cat-portrait", label: null, description: "Paints a cat.\n---\nname: other" };
const SAMPLES = {
  inputs: { textInputs: { "Child's Age": "7" }, imageInputs: [] },
  outputs: [{ type: "text", data: "A cat.\n```\nwith a fence" }],
};
const FOUND = {
  "GET /v1/prompt-slugs": { data: { rows: [NAMED], missing: [] } },
  "GET /v1/prompts/publish": { data: { rows: [{ ...NAMED, samples: SAMPLES, configs: version.config }] } },
};

test("skill writes a SKILL.md for an agent, with the command, its inputs, and its price", async () => {
  const { run, home } = await setup(FOUND);
  const { stdout } = await run("skill", "cat-portrait", "--out", "skills");
  expect(stdout).toBe("Wrote skills/cat-portrait/SKILL.md.\n");
  expect(await readFile(join(home, "skills/cat-portrait/SKILL.md"), "utf8")).toBe(`---
name: cat-portrait
description: "Cat portrait. Paints a cat. --- name: other Makes image by running a prompt on a promptd server."
compatibility: Needs the promptd command and an API key in PROMPTD_API_KEY.
---

# Cat portrait

Paints a cat. --- name: other

Output: image. Price per run: about 12 credits; 15 must be available. A failed run costs nothing.

## Run it

\`\`\`sh
promptd run cat-portrait 'Child'\\''s Age=…' --image Photo.jpg
\`\`\`

- Pass each input as \`KEY=VALUE\`. \`KEY=@FILE\` reads it from a file, and \`KEY=-\` from standard input.
- Pass each image as \`--image PATH|URL\`, in the order below.
- Pass an option as \`--option KEY=VALUE\`.
- Add \`--out DIR\` to save the image. Its URL is valid for 24 hours.
- Add \`--json\` for one JSON document with the outputs and the cost of the run.
- The exit code is 0 when the run succeeds and 1 when it fails. The reason is on standard error.

## Inputs

- \`Child's Age\`: required; Age; In years
- \`tone\`: default "calm"; one of: calm, loud

## Images

1. Photo: One clear face

## Options

- \`quality\`: low, medium, high (default medium)

## Example

\`\`\`sh
promptd run cat-portrait 'Child'\\''s Age=7' --image Photo.jpg
\`\`\`

\`\`\`\`
A cat.
\`\`\`
with a fence
\`\`\`\`
`);
});

test("an invalid prompt name is answered with the format of names", async () => {
  const error = { code: "VALIDATION_ERROR", message: "slug must be letters a-z, digits and hyphens." };
  const { run, seen } = await setup({ "GET /v1/prompt-slugs/..%2F..%2Fetc": { status: 422, error } });
  const { code, stderr } = await run("skill", "../../etc");
  expect([code, stderr.split("\n")[0]]).toEqual([1, error.message]);
  expect(seen).toHaveLength(1);
});

test("an unknown prompt leaves no file, and a similar slug is suggested", async () => {
  const { run, home } = await setup({
    "GET /v1/prompt-slugs": { data: { rows: [], missing: ["cat-potrait"] } },
    "GET /v1/prompts/publish": FOUND["GET /v1/prompts/publish"],
  });
  const { code, stdout, stderr } = await run("skill", "cat-potrait");
  expect([code, stdout, stderr]).toEqual([
    1,
    "",
    `No published prompt has the slug "cat-potrait". Did you mean "cat-portrait"?
Find prompts with "promptd search <words>".
`,
  ]);
  expect(await readdir(home)).toEqual([]);
});
