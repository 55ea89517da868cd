/**
 * Seeding an installation: once, by whichever process comes first, completed after a crash, and never over existing
 * work.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAccount, isLiveKey } from "../../src/accounts/index.ts";
import { findDemo, seedMarketplace, type SeedOptions } from "../../src/marketplace-seed.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";

const log = createLog("error", "stderr");
const newId = createIdSource(systemClock);
const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });

let database: TestDatabase;
let db: Database;
let dataDir: string;
beforeEach(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, role: "test", log });
  dataDir = await mkdtemp(join(tmpdir(), "promptd-seed-"));
});
afterEach(async () => {
  await db.close();
  await database.drop();
  await rm(dataDir, { recursive: true });
});

function seed(changes: Partial<SeedOptions> = {}): Promise<boolean> {
  const { signal } = new AbortController();
  return seedMarketplace({ db, catalogue, newId, log, dataDir, withDemoKey: true, signal, ...changes });
}

async function count(from: string): Promise<number> {
  const [row] = await db.query<{ n: number }>(`select count(*)::int as n from ${from}`);
  return row?.n ?? 0;
}

const keyFile = () => readFile(join(dataDir, "demo-key"), "utf8");

test("two processes that seed at once make every prompt, account, key, and grant once", async () => {
  const other = await openDatabase({ url: database.url, role: "other", log });
  await Promise.all([seed(), seed({ db: other }), seed()]);
  await other.close();
  const prompts = await count("prompts where unpublished_at is null and latest_version_id is not null");
  expect(prompts).toBeGreaterThanOrEqual(360);
  expect(await count("prompt_versions")).toBe(prompts);
  expect([await count("accounts"), await count("api_keys"), await count("credit_transfers")]).toEqual([2, 1, 1]);
  const demo = await findDemo({ db, catalogue, dataDir });
  expect(`${demo?.apiKey}\n`).toBe(await keyFile());
  expect(await isLiveKey(db, demo?.apiKey ?? "")).toBe(true);
});

test("seeding that is interrupted, before or after the prompts, is completed at the next startup", async () => {
  const stop = new AbortController();
  stop.abort(new Error("given up"));
  await expect(seed({ signal: stop.signal })).rejects.toThrow("given up");
  expect([await count("accounts"), await count("prompts")]).toEqual([1, 0]);

  const late = new AbortController();
  const sneaky: Database = {
    ...db,
    tx: async (work, options) => {
      const result = await db.tx(work, options);
      late.abort(new Error("given up late")); // the first transaction that ends is the one that publishes
      return result;
    },
  };
  await expect(seed({ db: sneaky, signal: late.signal })).rejects.toThrow("given up late");
  const prompts = await count("prompts");
  expect([prompts >= 360, await count("api_keys")]).toEqual([true, 0]);

  await seed();
  expect([await count("prompts"), await count("prompt_versions"), await count("api_keys")]).toEqual([
    prompts,
    prompts,
    1,
  ]);
});

test("a key that a crashed process had written is kept; a key that does not work is replaced", async () => {
  await seed();
  const first = await keyFile();
  await db.query("delete from installation_facts where name = 'seeded'");
  await seed();
  expect([await keyFile(), await count("api_keys")]).toEqual([first, 1]);
  await writeFile(join(dataDir, "demo-key"), "pd_half-writ");
  await db.query("delete from installation_facts where name = 'seeded'");
  await seed();
  expect(await isLiveKey(db, (await keyFile()).trim())).toBe(true);
  expect(await count("credit_transfers")).toBe(1);
});

test("an installation that was used, or already seeded, stays unchanged", async () => {
  await createAccount(db, newId, { email: "ada@example.org", plan: "pro" });
  await seed();
  expect([await count("accounts"), await count("prompts")]).toEqual([1, 0]);
  await expect(keyFile()).rejects.toThrow("ENOENT");
  await db.query("delete from accounts");
  await db.query("insert into installation_facts (name) values ('seeded')");
  await seed();
  expect([await count("accounts"), await count("prompts")]).toEqual([0, 0]);
});

test("without a demo key there is no demo account, no credits, and no access", async () => {
  await seed({ withDemoKey: false });
  expect([await count("accounts"), await count("api_keys"), await count("credit_transfers")]).toEqual([1, 0, 0]);
  expect(await findDemo({ db, catalogue, dataDir })).toBeNull();
});

test("the demo is not offered if it cannot run: key revoked, prompt unpublished, or sandbox off", async () => {
  await seed();
  const bare = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: false });
  expect(await findDemo({ db, catalogue: bare, dataDir })).toBeNull();
  expect(await findDemo({ db, catalogue, dataDir })).not.toBeNull();
  await db.query("update prompts set unpublished_at = now() where slug = 'tea-label-poem'");
  expect(await findDemo({ db, catalogue, dataDir })).toBeNull();
  await db.query("update prompts set unpublished_at = null");
  await db.query("update api_keys set revoked_at = now()");
  expect(await findDemo({ db, catalogue, dataDir })).toBeNull();
});
