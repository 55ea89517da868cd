/** The files slice with a real database and disk, at a time set by the test. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { FilesOptions } from "../../src/files/create-files.ts";
import type { Files, StoredFile, StoredImage } from "../../src/files/index.ts";
import type { FileRequest } from "../../src/http/endpoint.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { startImageHost, type ImageHost } from "./image-host.ts";
import { openFiles as openFilesAt } from "../support/open-files.ts";
import { useTestDatabase } from "../support/test-database.ts";

export const HOUR_MS = 3_600_000;
export const DAY_SECONDS = 86_400;
export const SECRET = Buffer.alloc(32, 1);
export const OWNER = {
  accountId: "01a1f874-0000-7000-8000-000000000001",
  runId: "01a1f874-0000-7000-8000-000000000002",
  deadlineSeconds: 300,
};
export const LIMITS = { bytesMax: 10_000_000, sideMax: 2_048, accountId: OWNER.accountId };
export const never = new AbortController().signal;

/** What the tests in one file work with. */
export interface FilesRig {
  db: Database;
  /** Where image inputs are fetched from. */
  host: ImageHost;
  /** 60 × 30 pixels. */
  png: Buffer;
  dataDir: string;
  /** The process's clock; the database's is set by setDatabaseTime. */
  nowMs: number;
}

/** A database and an image host per test file; an empty table, a new directory, and a fixed time per test. */
export function useFiles(): FilesRig {
  const rig = {} as FilesRig;
  useTestDatabase((opened) => (rig.db = opened.db));
  beforeAll(async () => {
    rig.host = await startImageHost();
    rig.png = await sharp({ create: { width: 60, height: 30, channels: 3, background: "red" } })
      .png()
      .toBuffer();
  });
  afterAll(() => rig.host.close());
  beforeEach(async () => {
    rig.nowMs = Date.UTC(2026, 10, 20, 10, 15, 30, 123);
    rig.dataDir = await mkdtemp(join(tmpdir(), "promptd-files-"));
    await rig.db.query("truncate files, file_keys, blob_store_mark");
    await setDatabaseTime(rig, rig.nowMs);
    rig.host.routes.clear();
    rig.host.names.clear();
  });
  afterEach(async () => {
    enableFaults("");
    await rm(rig.dataDir, { recursive: true });
  });
  return rig;
}

/** Stops the database's clock at a time, so that a sweep can happen at any time. */
export async function setDatabaseTime({ db }: FilesRig, ms: number): Promise<void> {
  await db.query(`create or replace function promptd_now() returns timestamptz language sql volatile
    as $$ select to_timestamp(${ms} / 1000.0) $$`);
}

export function openFiles(rig: FilesRig, options: Partial<FilesOptions> = {}): Promise<Files> {
  const clock = { nowMs: () => rig.nowMs };
  const fetch = { network: rig.host.network, trusted: rig.host.cert };
  return openFilesAt(rig, { clock, newId: createIdSource(clock), secret: [SECRET], fetch, ...options });
}

export async function storeImage(files: Files, bytes: Buffer): Promise<StoredFile> {
  const stored = await files.storeOutput(
    { accountId: OWNER.accountId, bytes, mediaType: "image/png", modality: "image" },
    never,
  );
  if (stored.kind !== "stored") throw new Error(stored.message);
  return stored;
}

export function storeInput(files: Files, bytes: Buffer): Promise<StoredImage[]> {
  return files.storeInputImages([{ type: "base64", base64: bytes.toString("base64") }]);
}

/** Like the last transaction of the owner's run. */
export function recordOutputs({ db }: FilesRig, files: Files, stored: readonly StoredFile[]): Promise<void> {
  return db.tx((tx) => files.recordOutputs(tx, { ...OWNER, attempt: 1 }, stored));
}

/** What a caller gets from an address: the response with its body, or the problem. */
export async function getFile(files: Files, address: string, request: Partial<FileRequest> = {}) {
  const url = new URL(address);
  const name = decodeURIComponent(url.pathname.replace("/files/", ""));
  try {
    const wish = {
      method: "GET",
      name,
      query: url.searchParams,
      range: null,
      ifRange: null,
      ifNoneMatch: null,
    } as const;
    const answer = await files.openFile({ ...wish, ...request });
    const body = answer.body === null ? null : Buffer.concat((await answer.body.toArray()) as Buffer[]);
    return { ...answer, body };
  } catch (error) {
    const { code, message, data } = error as { code: string; message: string; data: unknown };
    return { status: code, message, data };
  }
}

export function blobPath({ dataDir }: FilesRig, fileId: string): string {
  return join(dataDir, "files", fileId.slice(-4, -2), fileId.slice(-2), fileId);
}

export async function listBlobs({ dataDir }: FilesRig): Promise<string[]> {
  const names = await readdir(join(dataDir, "files"), { recursive: true });
  return names.map((name) => name.split("/").at(-1) ?? "").filter((name) => name.length === 36);
}

export function sweepFiles(files: Files, name: "files-expiry" | "files-orphans") {
  return files.ticks.find((tick) => tick.name === name)?.run();
}
