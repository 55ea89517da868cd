/** Moves the secret created at the first start to settings as docs/operations.md describes, with real processes. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { openConnection } from "../../server/src/platform/database/database.ts";
import {
  createInstallation,
  killLeftovers,
  run,
  start,
  type Environment,
  type OwnDatabase,
} from "./operator-process.ts";

const NEW = "a secret of the operator's own choice";

let installation: OwnDatabase;
let dataDir: string;
beforeEach(async () => {
  installation = await createInstallation({ PROMPTD_SEED: "off", PROMPTD_LOG_LEVEL: "error" });
  dataDir = installation.environment["PROMPTD_DATA_DIR"] ?? "";
});
afterEach(() => installation.remove());
afterAll(killLeftovers);

/** Starts until it serves, then stops. @returns how many file keys the database knows then. */
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

test("a different PROMPTD_SECRET on the same data directory is rejected, and changes nothing for correct processes", async () => {
  expect(await startOnce()).toBe(1);
  const environment = { ...installation.environment, PROMPTD_SECRET: NEW };
  const { code, stdout, stderr } = await run(["serve", "--json"], environment);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("set PROMPTD_SECRET to the old one.");
  expect(stderr).toContain("To rotate the secret, set PROMPTD_SECRET_PREVIOUS to the old one.");
  expect(await startOnce()).toBe(1);
});

test("a new PROMPTD_SECRET replaces the one in secret.previous, and works after that file is gone", async () => {
  expect(await startOnce()).toBe(1);
  await rename(join(dataDir, "secret"), join(dataDir, "secret.previous"));
  expect(await startOnce({ PROMPTD_SECRET: NEW })).toBe(2);
  expect(await startOnce({ PROMPTD_SECRET: NEW, PROMPTD_DATA_DIR: `${dataDir}-two` })).toBe(2);
});

test("the file's text as PROMPTD_SECRET means the same secret, and as PROMPTD_SECRET_PREVIOUS the previous one", async () => {
  expect(await startOnce()).toBe(1);
  const made = await readSecret();
  const PROMPTD_DATA_DIR = `${dataDir}-two`;
  expect(await startOnce({ PROMPTD_SECRET: made, PROMPTD_DATA_DIR })).toBe(1);
  expect(await startOnce({ PROMPTD_SECRET: NEW, PROMPTD_SECRET_PREVIOUS: made, PROMPTD_DATA_DIR })).toBe(2);
});

test("invalid secret files in the data directory do not stop a process that has PROMPTD_SECRET", async () => {
  await mkdir(dataDir, { recursive: true });
  for (const name of ["secret", "secret.previous"]) await writeFile(join(dataDir, name), "no secret", { mode: 0o600 });
  expect(await startOnce({ PROMPTD_SECRET: NEW })).toBe(1);
});

test("a rotation is rolled back by swapping the two settings", async () => {
  const OLD = "the secret before, of the operator's own choice";
  expect(await startOnce({ PROMPTD_SECRET: OLD })).toBe(1);
  expect(await startOnce({ PROMPTD_SECRET: NEW, PROMPTD_SECRET_PREVIOUS: OLD })).toBe(2);
  expect(await startOnce({ PROMPTD_SECRET: OLD, PROMPTD_SECRET_PREVIOUS: NEW })).toBe(3);
  expect(await startOnce({ PROMPTD_SECRET: OLD })).toBe(3);
});
