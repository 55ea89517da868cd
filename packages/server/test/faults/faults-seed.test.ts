/**
 * A first start that is killed while it seeds the marketplace: the next one completes it, and creates nothing twice.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "@promptd/client";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { killLeftovers, startPromptd, until } from "../support/promptd-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";

let database: TestDatabase;
let db: Database;
let environment: Record<string, string>;
beforeEach(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, role: "test", log: createLog("silent", "stderr"), poolMax: 2 });
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-seed-"));
  environment = {
    DATABASE_URL: database.url,
    PROMPTD_DATA_DIR: dataDir,
    PROMPTD_SEED: "on",
    PROMPTD_LOG_LEVEL: "error",
  };
});
afterEach(async () => {
  await killLeftovers();
  await db.close();
  await database.drop();
  await rm(environment["PROMPTD_DATA_DIR"] ?? "", { recursive: true, force: true });
});

async function count(from: string): Promise<number> {
  const [row] = await db.query<{ n: number }>(`select count(*)::int as n from ${from}`);
  return row?.n ?? 0;
}

/** A process that has the seed's author but not its prompts yet is publishing them, in one transaction. */
async function killWhilePublishing(): Promise<void> {
  const starting = startPromptd({ environment }).catch((error: unknown) => error);
  await until(async () => (await count("accounts")) === 1);
  const [row] = await db.query<{ pid: string }>(
    `select split_part(application_name, ':', 3) as pid from pg_stat_activity
     where datname = current_database() and application_name like 'promptd:all:%' limit 1`,
  );
  process.kill(Number(row?.pid), "SIGKILL");
  expect(String(await starting)).toContain("SIGKILL");
}

/** Between the published prompts and the demo key. */
async function killAtTheGrant(): Promise<void> {
  const starting = startPromptd({ environment: { ...environment, PROMPTD_FAULT: "grant.before_commit:kill" } });
  await expect(starting).rejects.toThrow("SIGKILL");
  expect(await count("api_keys")).toBe(0);
}

test.each([
  ["while its prompts are being published", killWhilePublishing],
  ["between its prompts and the demo key", killAtTheGrant],
])("killed %s", async (_, kill) => {
  await kill();
  const next = await startPromptd({ environment });
  const prompts = await count("prompts where latest_version_id is not null");
  expect(prompts).toBeGreaterThanOrEqual(360);
  expect([await count("prompts"), await count("prompt_versions")]).toEqual([prompts, prompts]);
  expect([await count("accounts"), await count("api_keys"), await count("credit_transfers")]).toEqual([2, 1, 1]);
  const emails = await db.query<{ email: string }>("select email from accounts order by email");
  expect(emails.map(({ email }) => email)).toEqual(["demo@promptd.invalid", "seed@promptd.invalid"]);
  const keyFile = join(environment["PROMPTD_DATA_DIR"] ?? "", "demo-key");
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
  const client = createClient({ baseUrl: next.url, apiKey: (await readFile(keyFile, "utf8")).trim() });
  expect((await client.me.credits()).credits).toBe(10_000);
  const { runStatus } = await client.run("tea-label-poem", { inputs: { topic: "the first frost of the year" } });
  expect(runStatus).toBe("succeeded");
  expect((await next.stop()).code).toBe(0);
});
