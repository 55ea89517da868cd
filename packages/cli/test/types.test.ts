import { expect, test } from "vitest";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setup } from "./fake-service.ts";
import { version } from "./sample-prompt.ts";

test("types writes the inputs that a prompt accepts, for the caller's compiler", async () => {
  const found = { "GET /v1/prompt-slugs/cat-portrait": { data: { ...version, slug: "cat-portrait", label: null } } };
  const { run, home } = await setup(found);
  expect((await run("types", "cat-portrait@production", "--out", "prompts.d.ts")).stdout).toBe("Wrote prompts.d.ts.\n");
  expect(await readFile(join(home, "prompts.d.ts"), "utf8")).toBe(`// Written by: promptd types cat-portrait
import "@promptd/client";

declare module "@promptd/client" {
  interface KnownPrompts {
    "cat-portrait": {
      inputs: {
        /** Age: In years */
        "Child's Age": string;
        "tone"?: "calm" | "loud" | undefined;
      };
      options: {
        "quality"?: "low" | "medium" | "high" | undefined;
      };
    };
  }
}
`);
});
