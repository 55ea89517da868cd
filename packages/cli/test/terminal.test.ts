/** The command as a process with its own terminal, as a person uses it. For pipes, see process.test.ts. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { COMPILE_CACHE } from "../../server/test/support/promptd-process.ts";
import { setup, type Reply, type Routes } from "./fake-service.ts";
import { RUN, VERSION, version } from "./sample-prompt.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
/** From util-linux: runs a command in a pseudo-terminal. */
const hasScript = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") ?? false;

const event = (name: string, data: unknown, id = ""): string =>
  `event: ${name}\n${id === "" ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
const status = (runStatus: string) => event("status", { runId: RUN, runStatus });
const done = { runId: RUN, outputs: [{ type: "text", data: "Tea and rain." }], runStatus: "succeeded", tokens: 12 };
const ending = status("succeeded") + event("output", { index: 0, ...done.outputs[0] }) + event("done", done);
const base: Routes = {
  [`GET /v1/prompt-versions/${VERSION}`]: { data: version },
  "POST /v1/runs": { status: 202, data: { ...done, outputs: [], runStatus: "queued", tokens: 0 } },
};
const stream = (text: string): Reply => ({
  bytes: Buffer.from(text),
  headers: { "content-type": "text/event-stream" },
});

function startIn(env: Record<string, string>, argv: readonly string[]) {
  const command = [process.execPath, "--conditions=promptd-source", MAIN, ...argv].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { TERM: "xterm-256color", NODE_COMPILE_CACHE: COMPILE_CACHE, ...env, PATH: process.env["PATH"] ?? "" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let shown = "";
  const waiting: { text: string; found: () => void }[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    shown += chunk.toString();
    for (const { text, found } of waiting) if (shown.includes(text)) found();
  });
  const ended = once(child, "close").then(([code]: unknown[]) => ({ code, shown }));
  const see = (text: string) => new Promise<void>((found) => waiting.push({ text, found }));
  return { child, ended, see };
}

describe.runIf(hasScript)("in a terminal", () => {
  test("a run shows its state, its text as it arrives, and its cost", async () => {
    const text = event("text", { index: 0, call: 1, text: "Tea and " }, "1");
    const { env } = await setup({ ...base, [`GET /v1/runs/${RUN}/events`]: stream(status("running") + text + ending) });
    const { code, shown } = await startIn(env, ["run", VERSION, "tone=calm"]).ended;
    expect(code).toBe(0);
    expect(shown).toContain(`running  ${RUN}  Ctrl-C stops waiting, not the run (0 s)`);
    expect(shown).toContain("Tea and rain.\r\n");
    expect(shown).toContain(`\u001b[2m${RUN}  succeeded  12 credits\u001b[22m`);
  });

  test("ignores control characters from a server, in ids, states, texts, warnings, and JSON", async () => {
    const evil = "\u001b]0;owned\u0007\u009b31m";
    const [runId, runStatus] = [`${RUN}${evil}`, `failed${evil}`];
    const routes = {
      [`GET /v1/runs/${RUN}`]: { data: { ...done, runId, runStatus, outputs: [{ type: "text", data: evil }] } },
      [`GET /v1/runs/${RUN}/events`]: stream(
        event("status", { runId, runStatus: `running${evil}` }) +
          event("text", { index: 0, call: 1, text: evil }, "1") +
          event("done", { ...done, runId, runStatus }),
      ),
      "GET /v1/me": { status: 500, error: { code: "SERVER_ERROR", message: evil }, headers: { "x-request-id": "r" } },
    };
    const { env } = await setup({ ...base, ...routes });
    for (const argv of [["runs", "get", RUN], ["runs", "get", RUN, "--json"], ["runs", "watch", RUN], ["me"]]) {
      const { shown } = await startIn(env, argv).ended;
      expect(shown).toContain("\\u001b]0;owned\\u0007\\u009b31m");
      for (const obeyed of ["\u001b]", "\u0007", "\u009b"]) expect(shown).not.toContain(obeyed);
    }
  });

  test("Ctrl-C during the wait says how to return to the run, and exits with 130", async () => {
    const { env } = await setup({ ...base, [`GET /v1/runs/${RUN}/events`]: "never" });
    const { child, ended, see } = startIn(env, ["run", VERSION]);
    await see(`queued  ${RUN}`);
    child.stdin.write("\u0003");
    const { code, shown } = await ended;
    expect(code).toBe(130);
    expect(shown).toContain("\u001b[31mStopped waiting for the run.\u001b[39m");
    expect(shown).toContain(`It continues: promptd runs watch ${RUN}`);
  });

  test("Ctrl-D at the question before a batch does not mean yes: nothing is sent", async () => {
    const credits = { data: { credits: 500 } };
    const { env, seen } = await setup({ ...base, "GET /v1/me/credits": credits });
    const file = join(env["HOME"] ?? "", "rows.csv");
    await writeFile(file, "tone,Child's Age,Photo\ncalm,7,https://example.org/a.png\n");
    const { child, ended, see } = startIn(env, ["run", VERSION, "--batch", file]);
    await see("Run what has not been run yet? [y/N]");
    child.stdin.write("\u0004");
    const { code, shown } = await ended;
    expect([code, shown]).toEqual([1, expect.stringContaining("Nothing was sent, and nothing was charged.")]);
    expect(seen.map(({ route }) => route)).not.toContain("POST /v1/batches");
  });

  test("login does not show the typed key", async () => {
    const routes: Routes = { "GET /v1/me": { data: { username: "ada", displayName: null, userFlags: 1 } } };
    const { env, baseUrl } = await setup(routes);
    const { child, ended, see } = startIn(env, ["login", "--no-browser"]);
    await see("(not shown): ");
    child.stdin.write("pd_typed_by_hand\r");
    const { code, shown } = await ended;
    expect(code).toBe(0);
    expect(shown).toContain(`Signed in to ${baseUrl} as ada, with an API key.`);
    expect(shown).not.toContain("typed_by_hand");
  });

  test("there are no colors when NO_COLOR is set", async () => {
    const { env } = await setup();
    const { code, shown } = await startIn({ ...env, NO_COLOR: "1" }, ["run", VERSION]).ended;
    expect([code, shown.includes("\u001b[3")]).toEqual([1, false]);
  });
});
