/** The Python client: its own tests with the Python of this machine, and a run on a real server. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describePython, PYTHON_PAGE } from "../../../../scripts/python-types.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const cwd = join(ROOT, "python");
const hasPython = spawnSync("python3", ["--version"]).status === 0;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

test("the generated part of the Python client says what the contract says; npm run docs writes it", () => {
  expect(readFileSync(join(ROOT, PYTHON_PAGE), "utf8")).toBe(describePython());
});

async function python(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn("python3", args, { cwd, env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...env } });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

describe.runIf(hasPython)("the Python client", () => {
  test("passes its own tests", async () => {
    const { code, stderr } = await python(["-W", "error::ResourceWarning", "-m", "unittest"]);
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/Ran \d+ tests/);
  });

  test("runs and follows a prompt on a real server, by its slug", async () => {
    const { apiKey } = await server.createCaller();
    await server.publish(textPrompt({ slug: "python-poem" }));
    const program = `
import os
from promptd import Client
client = Client(os.environ["URL"], os.environ["KEY"])
run = client.run("python-poem", inputs={"topic": "tea"})
assert "Write about tea." in run.text, run
events = list(client.stream("python-poem", inputs={"topic": "rain"}))
assert events[-1].event == "done" and events[-1].data["runStatus"] == "succeeded", events
assert client.prompt("python-poem")["title"] == "Wire test"
seen = []
items = [{"inputs": {"topic": "tea"}, "key": "a"}, {"inputs": {"topic": "rain"}, "key": "b"}]
batch = client.batches.run("python-poem", items, idempotency_key="two", on_progress=seen.append)
assert batch["counts"]["succeeded"] == 2 and seen[-1] == batch, batch
assert client.batches.create("python-poem", items, idempotency_key="two")["batchId"] == batch["batchId"]
assert [result["key"] for result in client.batches.results(batch["batchId"])] == ["a", "b"]
assert [result["index"] for result in client.batches.results(batch["batchId"], starting_after=0)] == [1]
assert client.batches.list() == [client.batches.get(batch["batchId"])] == [client.batches.cancel(batch["batchId"])]
print(client.credits() < 1000)
`;
    const { stdout, stderr } = await python(["-c", program], { URL: server.url, KEY: apiKey });
    expect([stdout.trim(), stderr]).toEqual(["True", ""]);
  });
});
