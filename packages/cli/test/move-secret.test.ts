/** The secret made at the first start is moved to settings as docs/operations.md says, by processes that really start. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { createInstallation, killLeftovers, start, type Environment, type OwnDatabase } from "./operator-process.ts";

const NEW = "a secret of the operator's own choice";

let installation: OwnDatabase;
let dataDir: string;
beforeEach(async () => {
  installation = await createInstallation({ PROMPTD_SEED: "off", PROMPTD_LOG_LEVEL: "error" });
  dataDir = installation.environment["PROMPTD_DATA_DIR"] ?? "";
});
afterEach(() => installation.remove());
afterAll(killLeftovers);

/** Starts until it serves, and stops. @returns how many keys the database knows then. */
async function startOnce(changes: Environment = {}): Promise<number> {
  const running = start(["serve", "--json"], { ...installation.environment, ...changes });
  await running.printed(/^\}\n$/m);
  running.child.kill("SIGTERM");
  await running.ended;
  const connection = openConnection(installation.url, "asking-test");
  await connection.connect();
  try {
    return (await connection.query("select id from file_keys")).rows.length;
  } finally {
    await connection.end();
  }
}

const readSecret = async (): Promise<string> => (await readFile(join(dataDir, "secret"), "utf8")).trim();

test("a new PROMPTD_SECRET follows the one in the data directory, and stays when that is gone", async () => {
  expect(await startOnce()).toBe(1);
  expect(await startOnce({ PROMPTD_SECRET: NEW })).toBe(2);
  expect(await startOnce({ PROMPTD_SECRET: NEW, PROMPTD_DATA_DIR: `${dataDir}-two` })).toBe(2);
});

test("the file's text as PROMPTD_SECRET keeps the secret, and as PROMPTD_SECRET_PREVIOUS names the one before", async () => {
  expect(await startOnce()).toBe(1);
  const made = await readSecret();
  const PROMPTD_DATA_DIR = `${dataDir}-two`;
  expect(await startOnce({ PROMPTD_SECRET: made, PROMPTD_DATA_DIR })).toBe(1);
  expect(await startOnce({ PROMPTD_SECRET: NEW, PROMPTD_SECRET_PREVIOUS: made, PROMPTD_DATA_DIR })).toBe(2);
});

test("a file in the data directory that holds no secret does not stop a process that has PROMPTD_SECRET", async () => {
  await mkdir(dataDir, { recursive: true });
  await writeFile(join(dataDir, "secret"), "no secret", { mode: 0o600 });
  expect(await startOnce({ PROMPTD_SECRET: NEW })).toBe(1);
});
