/** The server from an installed package: it starts, serves its console, and stops. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { ServerToUse } from "./client-program.ts";
import { check, children, environmentOf, findNode, home, install, signalGroup } from "./empty-folders.ts";

export interface Serving extends ServerToUse {
  /** Signs the first operator in. */
  readonly welcome: string;
  readonly stop: () => Promise<void>;
}

/** Starts the server as `npx promptd serve` does, on data of its own. */
async function serve(cwd: string, node: string): Promise<Serving> {
  const env = {
    PORT: "0",
    PROMPTD_LOCAL_MODELS: "off",
    PROMPTD_SANDBOX_DIRECTIVES: "callers",
    PROMPTD_DATA_DIR: mkdtempSync(join(home, "data-")),
  };
  const child = spawn("npx", ["promptd", "serve", "--json"], {
    cwd,
    env: environmentOf({ cwd, node, env }),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // npx does not forward signals, so the whole process group gets them
  });
  children.add(child);
  let [output, errors] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exit = once(child, "exit").then(([code, signal]: unknown[]) => String(code ?? signal));
  const ready = new Promise<string>((done) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.trimEnd().endsWith("}")) done(output);
    });
  });
  const text = await Promise.race([
    ready,
    exit.then((ending) => Promise.reject(new Error(`promptd ended with ${ending}:\n${errors}`))),
  ]);
  const { url, demo, welcome } = JSON.parse(text) as {
    url: string;
    welcome: string;
    demo: { apiKey: string; promptVersionId: string; textInputs: Record<string, string> };
  };
  const stop = async () => {
    signalGroup(child, "SIGTERM");
    const ending = await exit;
    children.delete(child);
    if (ending !== "0" && ending !== "SIGTERM") throw new Error(`It ended with ${ending}:\n${errors}`);
  };
  return { url, apiKey: demo.apiKey, promptVersionId: demo.promptVersionId, inputs: demo.textInputs, welcome, stop };
}

export async function checkServer(
  tarballs: readonly string[],
  major: string,
): Promise<{ cwd: string; serving: Serving | null }> {
  const node = findNode(major);
  let cwd = "";
  let serving: Serving | null = null;
  await check(`promptd installs on Node ${major}`, () => void (cwd = install(`server-${major}`, tarballs, node)));
  await check(`npx promptd serve starts on Node ${major}`, async () => void (serving = await serve(cwd, node)));
  await check(`its console is there on Node ${major}`, async () => {
    const page = await fetch(`${serving?.url}/`);
    const text = await page.text();
    const [script = ""] = /(?<=src=")\/assets\/[^"]+/.exec(text) ?? [];
    const loaded = await fetch(`${serving?.url}${script}`);
    if (page.status !== 200 || script === "" || loaded.status !== 200)
      throw new Error(`${page.status} ${loaded.status} ${text}`);
  });
  return { cwd, serving };
}
