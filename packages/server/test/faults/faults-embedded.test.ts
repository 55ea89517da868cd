/** The embedded database is shut down during work, in every possible way: callers keep waiting, and nothing is lost. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openInstallationFixture, type InstallationFixture } from "../support/installation-fixture.ts";
import { killLeftovers, startPromptd, until, type PromptdProcess } from "../support/promptd-process.ts";

let dataDir: string;
let server: PromptdProcess;
let fixture: InstallationFixture;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "promptd-shutdown-"));
  const environment = {
    PROMPTD_DATA_DIR: dataDir,
    PROMPTD_RATE_LIMIT_PER_SECOND: "10000",
    PROMPTD_LEASE_MS: "1500",
    PROMPTD_LOG_LEVEL: "warn",
    PROMPTD_SYNC_WAIT_MS: "90000",
  };
  server = await startPromptd({ environment });
  const host = encodeURIComponent(join(dataDir, "pg"));
  fixture = await openInstallationFixture(`postgresql://promptd@/promptd?host=${host}&port=5432&sslmode=disable`);
});
afterEach(async () => {
  await fixture.close();
  await server.stop();
  await killLeftovers();
  await rm(dataDir, { recursive: true, force: true });
});

async function postmaster(): Promise<number> {
  const text = await readFile(join(dataDir, "pg/postmaster.pid"), "utf8").catch(() => "0");
  return Number.parseInt(text, 10);
}

describe("a database that is shut down while requests wait for their runs", () => {
  test.each(["SIGINT", "SIGQUIT"] as const)(
    "by %s comes back by itself, and every waiting request gets the result of its own run",
    async (signal) => {
      const caller = await fixture.createCaller();
      const client = caller.clientAt(server.url);
      const waits = Array.from({ length: 20 }, (_, i) =>
        client.runs.create({
          promptVersionId: fixture.prompts.paid,
          inputs: { textInputs: { ask: `sandbox: delay=${1_500 + i * 200}\nanswer ${i}` } },
        }),
      );
      for (const wait of waits) wait.catch(() => {}); // handled where they are awaited
      await until(async () => (await fixture.db.query("select 1 from runs where worker is not null")).length > 0);
      await until(async () => (await fixture.db.query("select 1 from runs")).length === waits.length);
      const before = await postmaster();
      process.kill(before, signal);
      await until(async () => ![0, before].includes(await postmaster()));

      const runs = await Promise.all(waits);
      expect(runs.map((run) => [run.runStatus, run.outputs[0]?.data])).toEqual(
        runs.map((_, i) => ["succeeded", expect.stringContaining(`answer ${i}`)]),
      );
      await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
      expect(
        (await client.runs.create({ promptVersionId: fixture.prompts.paid, inputs: { textInputs: { ask: "after" } } }))
          .runStatus,
      ).toBe("succeeded");
      expect(await fixture.findFaults()).toEqual([]);
    },
  );
});
