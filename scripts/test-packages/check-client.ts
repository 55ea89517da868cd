/** The client alone: its dependencies, types, and size, and runs on every runtime. */
import { globSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CLIENT_BYTES_MAX, measureClient } from "../build-client.ts";
import type { Serving } from "./check-server.ts";
import { clientProgram, expectOutcome, findImagePrompt, PNG_BASE64 } from "./client-program.ts";
import { check, findNode, install, ROOT, run } from "./empty-folders.ts";

const CONSUMER = `
import { createClient, PromptdError, type RunTask } from "@promptd/client";
import { createManageClient } from "@promptd/client/manage";
declare module "@promptd/client" {
  interface KnownPrompts { "cat-poem": { inputs: { topic: string; tone?: "calm" | "loud" }; options: { quality?: string } } }
}
const client = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "pd_x" });
export const task: RunTask = client.run("cat-poem", { inputs: { topic: "tea", tone: "calm" } });
export const labeled = client.run("cat-poem@production", { inputs: { topic: "tea" } });
export const free = client.run("another", { inputs: { any: 1 } });
// @ts-expect-error -- a known prompt has no such input
export const wrong = client.run("cat-poem", { inputs: { topik: "tea" } });
// @ts-expect-error -- a known prompt needs its input
export const missing = client.run("cat-poem");
export const keys: Promise<readonly { readonly keyId: string }[]> = createManageClient({ baseUrl: "http://x", token: "pdm_x" })
  .send("listKeys")
  .then(({ rows }) => rows);
export const code = (error: PromptdError) => error.code;
// The compiler can write the types of what the methods return into declarations.
export const run = (id: string) => client.runs.get(id);
export const runs = () => client.runs.list();
export const batch = (id: string) => client.batches.get(id);
export const results = (id: string) => client.batches.results(id);
export const { prompts, promptVersions, me, resources } = client;
export const found = () => client.prompts.search("tea");
export const issues = (error: PromptdError) => error.issues;
export const session = () => createManageClient({ baseUrl: "http://x", token: "pdm_x" }).send("getSession");
`;
const COMPILER = {
  strict: true,
  module: "nodenext",
  target: "es2024",
  lib: ["es2024", "dom"],
  types: [],
  declaration: true,
  noEmit: true,
};

export async function checkClient(tarball: string, majors: readonly string[], serving: Serving): Promise<void> {
  const cwd = install("client", [tarball], findNode("24"));
  await check("the client installs alone, without zod", () => {
    const names = globSync("node_modules/{*,@*/*}/package.json", { cwd }).map((name) => dirname(name));
    if (names.join() !== "node_modules/@promptd/client") throw new Error(`It installs ${names.join(", ")}.`);
  });
  await check("the client's types compile without any other package", () => {
    writeFileSync(join(cwd, "consumer.ts"), CONSUMER);
    writeFileSync(join(cwd, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER, files: ["consumer.ts"] }));
    run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."], { cwd, node: findNode("24") });
  });
  await check(`a page loads at most ${CLIENT_BYTES_MAX} bytes of the client, minified`, async () => {
    const { first, later } = await measureClient(join(cwd, "node_modules/@promptd/client/dist/index.js"));
    if (first > CLIENT_BYTES_MAX) throw new Error(`It loads ${first}.`);
    return `${first} bytes, and ${later} on demand`;
  });
  writeFileSync(join(cwd, "pixel.png"), Buffer.from(PNG_BASE64, "base64"));
  writeFileSync(join(cwd, "run.mjs"), clientProgram(serving, await findImagePrompt(serving)));
  for (const major of majors) {
    await check(`the client runs prompts on Node ${major}`, () =>
      expectOutcome(run("node", ["run.mjs"], { cwd, node: findNode(major) })),
    );
  }
  for (const [name, { packages, program, args }] of Object.entries(runtimes())) {
    await check(`the client runs prompts on ${name}`, () => {
      const node = findNode("24");
      const at = install(`runtime-${name}`, packages, node);
      const [found = ""] = globSync(program, { cwd: at });
      if (found === "") throw new Error(`${packages.join(", ")} has no program.`);
      return expectOutcome(run(join(at, found), [...args, "run.mjs"], { cwd, node }));
    });
  }
}

interface Runtime {
  readonly packages: readonly string[];
  readonly program: string;
  readonly args: readonly string[];
}

/** Runtimes other than Node, from their packages for this machine, without installers that would download more. */
function runtimes(): Readonly<Record<string, Runtime>> {
  if (process.platform !== "linux") return {};
  const { arch } = process;
  const [bun, deno] = [BUN_OF[arch], DENO_OF[arch]];
  return {
    ...(bun === undefined
      ? {}
      : { bun: { packages: [`${bun}@1.4.5`], program: "node_modules/@oven/*/bin/bun", args: ["run"] } }),
    ...(deno === undefined
      ? {}
      : { deno: { packages: [`${deno}@2.9.6`], program: "node_modules/@deno/*/deno", args: ["run", "-A"] } }),
  };
}

const BUN_OF: Partial<Record<string, string>> = {
  x64: "@oven/bun-linux-x64-baseline",
  arm64: "@oven/bun-linux-aarch64",
};
const DENO_OF: Partial<Record<string, string>> = { x64: "@deno/linux-x64-glibc", arm64: "@deno/linux-arm64-glibc" };
