/** Agents, conformance checks from outside, and a Node version that only some packages support. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Serving } from "./check-server.ts";
import { check, children, COMMAND_MS_MAX, environmentOf, findNode, install } from "./empty-folders.ts";

/** An agent host that starts the command, and a conformance check of the server from outside. */
export async function checkAgent(tarballs: readonly string[], { url, apiKey }: Serving): Promise<void> {
  const node = findNode("24");
  const cwd = install("agent", tarballs, node);
  const env = environmentOf({ cwd, node, env: { PROMPTD_URL: url, PROMPTD_API_KEY: apiKey } });
  await check("promptd mcp returns its tools to a host", () => expectTools("promptd", ["mcp"], { cwd, env }));
  await check("promptd conform finds nothing wrong", async () => {
    // Not a blocking call: the server's log must be read meanwhile, or its pipe fills up.
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

/** Talks MCP to a program, like a host. */
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

/** A Node version that the server does not support: two of our packages warn on installation, and the start prints one sentence. */
export async function checkLauncher(tarballs: readonly string[]): Promise<void> {
  const node = findNode("20");
  let cwd = "";
  await check("promptd installs on Node 20 with two warnings, for the server and for itself", () => {
    cwd = install("server-20", tarballs, node, ["@promptd/server", "promptd"]);
  });
  const env = environmentOf({ cwd, node });
  await check("promptd on Node 20 says which Node it needs", () => {
    const ended = spawnSync("promptd", ["--version"], { cwd, env, encoding: "utf8", timeout: COMMAND_MS_MAX });
    if (ended.status !== 1 || !ended.stderr.startsWith("promptd needs Node 22.19 or newer; this is v20"))
      throw new Error(ended.stderr);
  });
  await check("the MCP tools work on Node 20", async () => {
    writeFileSync(join(cwd, "tools.mjs"), TOOLS_PROGRAM);
    await expectTools("node", ["tools.mjs"], { cwd, env });
  });
}
