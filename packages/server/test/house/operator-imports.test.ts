/**
 * What operator commands and startup load: the AI SDK, the HTTP server, and the image decoder would take a third of
 * their time.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROGRAM = `
  import { registerHooks } from "node:module";
  const loaded = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1];
      if (name !== undefined) loaded.add(name);
      if (specifier.startsWith("@promptd/")) loaded.add(specifier);
      return found;
    },
  });
  await import(process.argv[1]);
  console.log(JSON.stringify([...loaded]));
`;

async function packagesOf(module: string): Promise<string[]> {
  const path = join(import.meta.dirname, "../../src", module);
  const argv = ["--conditions=promptd-source", "--input-type=module", "--eval", PROGRAM, path];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  return JSON.parse(stdout) as string[];
}

const HEAVY = ["ai", "@ai-sdk/openai", "undici", "find-my-way", "sharp"];

test("an operator command loads neither the AI SDK nor what only a server needs", async () => {
  const loaded = await packagesOf("operator-entry.ts");
  expect(loaded).toContain("pg");
  expect(loaded.filter((name) => HEAVY.includes(name))).toEqual([]);
});

test("a server's startup waits for nothing that its first request does not need", async () => {
  const loaded = [...(await packagesOf("app.ts")), ...(await packagesOf("models/ai-sdk/adapter.ts"))];
  expect(loaded).toContain("find-my-way");
  const later = [
    "ai",
    "undici",
    "sharp",
    "nodemailer",
    "@modelcontextprotocol/server",
    "better-auth",
    "@promptd/contract/manage/schemas",
    "@promptd/contract/examples",
    "@promptd/contract/manage/examples",
  ];
  expect(loaded.filter((name) => later.includes(name))).toEqual([]);
});

test("requesting a picture does load the AI SDK, so the tests above can see it", async () => {
  expect(await packagesOf("models/ai-sdk/image.ts")).toContain("ai");
});
