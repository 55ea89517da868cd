import { randomBytes } from "node:crypto";
import { link, open, stat, unlink, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "./config.ts";
import type { Log } from "../log.ts";
import { makeFolder, syncPath } from "../make-folder.ts";
import { codeOf } from "../reason-of.ts";

const SECRET_BYTES = 32;
const NAME = "secret";
const PREVIOUS_NAME = "secret.previous";
const OTHERS = 0o077;
const FILE_TEXT = /^[\w-]{43}$/;

/**
 * One secret in each of its possible readings. The first is used when none is registered yet. The setting may be any
 * text, including the text of the secret file, which then means the same secret. The database knows which reading applies.
 */
export type SecretReadings = readonly [Buffer, ...Buffer[]];

export function readingsOfSetting(text: string): SecretReadings {
  return FILE_TEXT.test(text.trim()) ? [Buffer.from(text), Buffer.from(text.trim(), "base64url")] : [Buffer.from(text)];
}

/** @param secret as stored in the file. */
export function readingsOfFile(secret: Buffer): SecretReadings {
  return [secret, Buffer.from(secret.toString("base64url"))];
}

/**
 * Reads the secret from the setting, or else from the data directory.
 * @param mayCreate called before the file is created; rejects when another secret is in use.
 */
export async function readServerSecret(
  { PROMPTD_SECRET: text, dataDir }: Config,
  mayCreate: () => Promise<void>,
): Promise<SecretReadings> {
  return text === null ? readingsOfFile(await loadOrCreateSecret(dataDir, mayCreate)) : readingsOfSetting(text);
}

/**
 * Reads the secret before a rotation, in its readings: the setting, else the file `secret.previous`. It never uses the
 * file `secret`, so that a process started with a wrong PROMPTD_SECRET does not rotate.
 */
export async function readPreviousSecrets(config: Config, log: Log): Promise<readonly Buffer[]> {
  const { PROMPTD_SECRET: text, PROMPTD_SECRET_PREVIOUS: previousText, dataDir } = config;
  if (previousText !== null) return readingsOfSetting(previousText);
  try {
    const secret = await loadPreviousSecret(dataDir);
    return secret === null ? [] : readingsOfFile(secret);
  } catch (error) {
    if (text === null) throw error;
    // A process with the setting does not need this file, so an unusable file must not stop it from starting.
    log.warn({ err: error }, "the file secret.previous is not used as the previous secret");
    return [];
  }
}

/**
 * Reads the server's secret from `<dataDir>/secret`, created at the first start: 32 random bytes as base64url, mode 0600.
 * Processes that start together get the same secret: a hard link makes the file appear completely or not at all.
 * @throws Error when other users can read the file, or it does not contain a secret.
 */
export async function loadOrCreateSecret(dataDir: string, mayCreate = async () => {}): Promise<Buffer> {
  const path = join(dataDir, NAME);
  const found = await readSecret(path);
  if (found !== null) return found;
  await mayCreate();
  await makeFolder(dataDir, 0o700);
  const draft = await writeDraft(dataDir);
  try {
    await link(draft, path);
    await syncPath(dataDir);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error; // another process was first, so use its secret
  } finally {
    await unlink(draft);
  }
  const made = await readSecret(path);
  if (made === null) throw new Error(`${path} disappeared while it was being created.`);
  return made;
}

/** The secret before the last rotation; null without one. URLs signed with it stay valid until their files expire. */
export async function loadPreviousSecret(dataDir: string): Promise<Buffer | null> {
  return readSecret(join(dataDir, PREVIOUS_NAME));
}

async function writeDraft(dataDir: string): Promise<string> {
  const draft = join(dataDir, `${NAME}.${randomBytes(8).toString("hex")}`);
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${randomBytes(SECRET_BYTES).toString("base64url")}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  return draft;
}

async function readSecret(path: string): Promise<Buffer | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  const { mode } = await stat(path);
  if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
    throw new Error(`Other users of this machine can read ${path}. Run: chmod 600 ${path}`);
  }
  const secret = Buffer.from(text.trim(), "base64url");
  if (secret.length !== SECRET_BYTES) {
    throw new Error(`${path} does not contain a secret (32 bytes as base64url). Restore it from a backup.`);
  }
  return secret;
}
