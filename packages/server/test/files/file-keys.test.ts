/** Which secrets may sign and open file addresses, and for how long (docs/operations.md, "To rotate it"). */
import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readFileSecrets, registerFileKeys } from "../../src/files/outputs/file-keys.ts";
import { readingsOfFile, readingsOfSetting, type SecretReadings } from "../../src/platform/config/server-secret.ts";
import { deriveFileKey } from "../../src/files/outputs/signed-urls.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { stopClock } from "../runs/engine-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";

const [FIRST, SECOND, THIRD] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const START_MS = Date.UTC(2026, 10, 20, 10, 15, 30, 123);
const DAY_SECONDS = 86_400;
const DAY_MS = DAY_SECONDS * 1_000;

let db: Database;
useTestDatabase((opened) => (db = opened.db));
beforeEach(async () => {
  await db.query("truncate file_keys");
  await clockAt(START_MS);
});

function clockAt(ms: number): Promise<void> {
  return stopClock(db, ms * 1_000);
}

/** Starts a process with these secrets. */
function start(current: Buffer, previous: Buffer | null = null) {
  const secrets = { current: [current] as const, previous: previous === null ? [] : [previous] };
  return registerFileKeys(db, secrets, DAY_SECONDS);
}

describe("a process that starts", () => {
  test("with the first secret signs with key 1, and so does every later one", async () => {
    const ring = { current: { keyId: 1, key: deriveFileKey(FIRST) }, previous: [] };
    expect(await start(FIRST)).toEqual(ring);
    expect(await start(FIRST)).toEqual(ring);
  });

  test("for the first time with a foreign previous secret opens nothing with that", async () => {
    expect(await start(FIRST, SECOND)).toEqual({ current: { keyId: 1, key: deriveFileKey(FIRST) }, previous: [] });
  });

  test("with an unknown secret fails with a message that says what to do, and changes nothing", async () => {
    await start(FIRST);
    const failure = new Error(
      `The server secret does not match the one that this database knows. Nothing was changed.
Every promptd process needs the same secret: set PROMPTD_SECRET to the old one. If PROMPTD_SECRET is not set, the secret is the file "secret" in the data directory.
To rotate the secret, set PROMPTD_SECRET_PREVIOUS to the old one. If it is not set, the previous secret is the file "secret.previous" in the data directory.
If the old secret is lost, delete all rows from the table file_keys. URLs of existing files then stop working, webhooks wait until their owners roll their secrets, and people with an authenticator app need a link from "promptd admin sign-in-link" and must set the app up again.`,
    );
    await expect(start(SECOND)).rejects.toEqual(failure);
    await expect(start(SECOND, THIRD)).rejects.toEqual(failure);
    expect(await start(FIRST)).toMatchObject({ current: { keyId: 1 } });
  });

  test("creates no secret file if the database knows a secret, unless it follows the previous one", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "promptd-secret-"));
    onTestFinished(() => rm(dataDir, { recursive: true }));
    const read = () => readFileSecrets(db, readConfig({ PROMPTD_DATA_DIR: dataDir }), createLog("silent"));
    await registerFileKeys(db, await read(), DAY_SECONDS);
    await rename(join(dataDir, "secret"), join(dataDir, "away"));
    await expect(read()).rejects.toThrow("Nothing was changed.");
    expect(await readdir(dataDir)).toEqual(["away"]);
    await rename(join(dataDir, "away"), join(dataDir, "secret.previous"));
    await registerFileKeys(db, await read(), DAY_SECONDS);
    expect((await readdir(dataDir)).toSorted()).toEqual(["secret", "secret.previous"]);
  });
});

describe("after a rotation", () => {
  const rotated = {
    current: { keyId: 2, key: deriveFileKey(SECOND) },
    previous: [{ keyId: 1, key: deriveFileKey(FIRST), acceptedUntilMs: START_MS + DAY_MS }],
  };
  beforeEach(async () => {
    await clockAt(START_MS - 7 * DAY_MS);
    await start(FIRST);
    await clockAt(START_MS);
  });

  test("the previous secret opens files for one file lifetime, counted from the rotation, not from a later start", async () => {
    expect(await start(SECOND, FIRST)).toEqual(rotated);
    await clockAt(START_MS + 5 * DAY_MS);
    expect(await start(SECOND, FIRST)).toEqual(rotated);
  });

  test("the previous secret opens nothing in a process that was not given it", async () => {
    await start(SECOND, FIRST);
    expect(await start(SECOND)).toEqual({ ...rotated, previous: [] });
  });

  test("that is rolled back, the first secret opens what it signed before, and the second what it signed since", async () => {
    await start(SECOND, FIRST);
    await clockAt(START_MS + 1_000);
    expect(await start(FIRST, SECOND)).toEqual({
      current: { keyId: 3, key: deriveFileKey(FIRST) },
      previous: [
        { keyId: 2, key: deriveFileKey(SECOND), acceptedUntilMs: START_MS + 1_000 + DAY_MS },
        { keyId: 1, key: deriveFileKey(FIRST), acceptedUntilMs: START_MS + DAY_MS },
      ],
    });
  });

  test("a setting left over from the rotation before last opens nothing", async () => {
    await start(SECOND, FIRST);
    await start(THIRD, SECOND);
    expect(await start(THIRD, FIRST)).toEqual({ current: { keyId: 3, key: deriveFileKey(THIRD) }, previous: [] });
    expect(await start(THIRD, SECOND)).toMatchObject({ previous: [{ keyId: 2, key: deriveFileKey(SECOND) }] });
  });
});

test("a secret is recognized in either of its readings, and signs with the one that the database knows", async () => {
  const text = FIRST.toString("base64url");
  const open = (current: SecretReadings, previous: readonly Buffer[] = []) =>
    registerFileKeys(db, { current, previous }, DAY_SECONDS);
  await open(readingsOfFile(FIRST));
  expect(await open(readingsOfSetting(text))).toMatchObject({ current: { keyId: 1, key: deriveFileKey(FIRST) } });
  expect(await open([SECOND], readingsOfSetting(`${text}\n`))).toMatchObject({
    previous: [{ keyId: 1, key: deriveFileKey(FIRST) }],
  });
  await db.query("truncate file_keys");
  await open(readingsOfSetting(text));
  expect(await open(readingsOfFile(FIRST))).toMatchObject({
    current: { keyId: 1, key: deriveFileKey(Buffer.from(text)) },
  });
});
