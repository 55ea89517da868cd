/** Agents and whoever checks a server from outside, and a Node that only some of the packages run on. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Serving } from "./check-server.ts";
import { check, children, COMMAND_MS_MAX, environmentOf, findNode, install } from "./empty-folders.ts";

/** A host of agents that starts the command, and somebody who checks the server from outside. */
export async function checkAgent(tarballs: readonly string[], { url, apiKey }: Serving): Promise<void> {
  const node = findNode("24");
  const cwd = install("agent", tarballs, node);
  const env = environmentOf({ cwd, node, env: { PROMPTD_URL: url, PROMPTD_API_KEY: apiKey } });
  await check("promptd mcp answers a host with its tools", () => expectTools("promptd", ["mcp"], { cwd, env }));
  await check("promptd conform finds nothing wrong", async () => {
    // Not awaited by a call that blocks: the log of the server has to be read meanwhile, or its pipe fills up.
    const child = spawn("promptd", ["conform", url, apiKey], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    children.add(child);
    const chunks: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    const [status]: unknown[] = await once(child, "close");
    children.delete(child);
    const report = chunks.join("");
    if (status !== 0) throw new Error(report);
    return report.trim().split("\n").at(-1);
  });
}

/** Speaks MCP with a program as a host does. */
async function expectTools(
  program: string,
  args: readonly string[],
  own: { readonly cwd: string; readonly env: Record<string, string> },
): Promise<void> {
  const child = spawn(program, args, { ...own, stdio: ["pipe", "pipe", "inherit"] });
  children.add(child);
  const clientInfo = { name: "packages", version: "1" };
  const messages = [
    { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list", params: {} },
  ];
  for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let output = "";
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (output.includes('"id":2')) break;
  }
  child.stdin.end();
  children.delete(child);
  if (!output.includes('"run_prompt"')) throw new Error(output);
}

const TOOLS_PROGRAM = `
import { createClient } from "@promptd/client";
import { readChoice } from "@promptd/mcp/describe";
import { serveOnStdio } from "@promptd/mcp/stdio";
const client = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "pd_x" });
const source = { client, choice: readChoice(null, null), fetchFile: fetch, readImageFile: null };
await serveOnStdio({ source, version: "1" }, { signal: new AbortController().signal, onError: console.error });
`;

/** A Node that the server cannot run on: two of our packages say so when they are installed, and one sentence at the start. */
export async function checkLauncher(tarballs: readonly string[]): Promise<void> {
  const node = findNode("20");
  let cwd = "";
  await check("promptd installs on Node 20 with two warnings, of the server and of itself", () => {
    cwd = install("server-20", tarballs, node, ["@promptd/server", "promptd"]);
  });
  const env = environmentOf({ cwd, node });
  await check("promptd says on Node 20 which Node it needs", () => {
    const ended = spawnSync("promptd", ["--version"], { cwd, env, encoding: "utf8", timeout: COMMAND_MS_MAX });
    if (ended.status !== 1 || !ended.stderr.startsWith("promptd needs Node 22.19 or newer; this is v20"))
      throw new Error(ended.stderr);
  });
  await check("the tools for agents are served on Node 20", async () => {
    writeFileSync(join(cwd, "tools.mjs"), TOOLS_PROGRAM);
    await expectTools("node", ["tools.mjs"], { cwd, env });
  });
}
