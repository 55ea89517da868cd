/** The first start is interrupted or loses its database: nothing is left running, and the marketplace is created. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "@promptd/client";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { startTcpProxy } from "../../server/test/support/tcp-proxy.ts";
import { createEmbeddedInstallation, type EmbeddedInstallation } from "./embedded-installation.ts";
import { createInstallation, killLeftovers, start, type Environment, type OwnDatabase } from "./operator-process.ts";
import { until } from "../../server/test/support/promptd-process.ts";

interface Serving {
  url: string | null;
  demo: { apiKey: string; promptVersionId: string; textInputs: Record<string, string> } | null;
}

afterAll(killLeftovers);

/** Starts with --json and reads the document. */
async function serve(environment: Environment) {
  const running = start(["serve", "--json"], environment);
  const serving = JSON.parse(await running.printed(/^\}\n$/m)) as Serving;
  const stop = async () => {
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  };
  return { serving, stop };
}

describe("Ctrl-C during startup", () => {
  let own: EmbeddedInstallation;
  beforeEach(async () => {
    own = await createEmbeddedInstallation();
  });
  afterEach(() => own.remove());

  const isThere = async (name: string) => (await lstat(join(own.directory, "data", name)).catch(() => null)) !== null;

  test.each([
    ["before the database exists", () => isThere("pg.lock")],
    ["once the database is up", async () => (await own.serverPid()) !== null],
    ["while the marketplace is published", () => isThere("secret")],
  ])("%s leaves nothing running, and the next start completes the work", async (_when, hasCome) => {
    const running = start(["serve", "--json"], own.environment);
    await until(hasCome);
    running.child.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(await own.isServerRunning()).toBe(false);
    const { serving, stop } = await serve(own.environment);
    const client = createClient({ baseUrl: serving.url ?? "", apiKey: serving.demo?.apiKey ?? "" });
    const { promptVersionId = "", textInputs = {} } = serving.demo ?? {};
    expect(await client.runs.create({ promptVersionId, inputs: { textInputs } })).toMatchObject({
      runStatus: "succeeded",
    });
    await stop();
  });
});

describe("the marketplace is created even when the database connection is lost", () => {
  let installation: OwnDatabase;
  beforeEach(async () => {
    installation = await createInstallation();
  });
  afterEach(() => installation.remove());

  test.each([
    ["while it is published", "insert into prompt_versions"],
    ["while the demo key is looked up", "from api_keys where key_hash"],
  ])("%s", async (_, statement) => {
    const proxy = await startTcpProxy(installation.url);
    onTestFinished(() => proxy.close());
    const cut = proxy.cutOnAnswerTo(statement);
    const { serving, stop } = await serve({ ...installation.environment, DATABASE_URL: proxy.url });
    await cut;
    expect(serving.demo?.apiKey).toMatch(/^pd_/);
    const connection = openConnection(installation.url, "asking-test");
    await connection.connect();
    const counts = `select (select count(*) from prompt_versions) = (select count(*) from prompts) as "isOnce",
      (select array_agg(amount::int) from credit_transfers) as amounts`;
    expect((await connection.query(counts)).rows).toEqual([{ isOnce: true, amounts: [10_000] }]);
    await connection.end();
    await stop();
  });
});
