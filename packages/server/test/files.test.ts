import { mkdtemp, readdir, rm, symlink, unlink, utimes, writeFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { FilesOptions } from "../src/files/create-files.ts";
import { createFiles, StorageFailure, type Files, type KeptFile, type StoredImage } from "../src/files/index.ts";
import type { FileRequest } from "../src/http/endpoint.ts";
import type { Database } from "../src/platform/database.ts";
import { enableFaults } from "../src/platform/fault.ts";
import { createIdSource } from "../src/platform/ids.ts";
import { createLog } from "../src/platform/log.ts";
import { startBucketServer } from "./bucket-server.ts";
import { startImageHost, type ImageHost } from "./image-host.ts";
import { writePng } from "./png-bytes.ts";
import { useTestDatabase } from "./test-database.ts";

const log = createLog("silent");
const HOUR_MS = 3_600_000;
const DAY_SECONDS = 86_400;
const SECRET = Buffer.alloc(32, 1);
const OWNER = { accountId: "01a1f874-0000-7000-8000-000000000001", runId: "01a1f874-0000-7000-8000-000000000002" };
const LIMITS = { bytesMax: 10_000_000, sideMax: 2_048 };
const never = new AbortController().signal;

let db: Database;
let host: ImageHost;
let png: Buffer;
let dataDir: string;
let nowMs: number;

useTestDatabase((opened) => (db = opened.db));
beforeAll(async () => {
  host = await startImageHost();
  png = await sharp({ create: { width: 60, height: 30, channels: 3, background: "red" } })
    .png()
    .toBuffer();
});
afterAll(() => host.close());
beforeEach(async () => {
  nowMs = Date.UTC(2026, 10, 20, 10, 15, 30, 123);
  dataDir = await mkdtemp(join(tmpdir(), "promptd-files-"));
  await db.query("truncate files, file_keys");
  await setDatabaseTime(nowMs);
  host.routes.clear();
  host.names.clear();
});
afterEach(async () => {
  enableFaults("");
  await rm(dataDir, { recursive: true });
});

/** Stops the database's clock at a time, so that a sweep can be put anywhere. */
async function setDatabaseTime(ms: number): Promise<void> {
  await db.query(`create or replace function promptd_now() returns timestamptz language sql volatile
    as $$ select to_timestamp(${ms} / 1000.0) $$`);
}

function open(options: Partial<FilesOptions> = {}): Promise<Files> {
  const clock = { nowMs: () => nowMs };
  return createFiles({
    db,
    dataDir,
    publicUrl: () => "https://promptd.example.org",
    ttlSeconds: DAY_SECONDS,
    secret: SECRET,
    clock,
    newId: createIdSource(clock),
    log,
    fetch: { network: host.network, trusted: host.cert },
    ...options,
  });
}

async function keepImage(files: Files, bytes = png): Promise<KeptFile> {
  const kept = await files.keepOutput({ bytes, mediaType: "image/png", modality: "image" }, never);
  if (kept.kind !== "kept") throw new Error(kept.message);
  return kept;
}

const record = (files: Files, ...kept: KeptFile[]) =>
  db.tx((tx) => files.recordOutputs(tx, { ...OWNER, attempt: 1 }, kept));

/** What a caller gets at an address: the answer with its body, or the problem. */
async function get(files: Files, address: string, request: Partial<FileRequest> = {}) {
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

const keepInput = (files: Files, bytes = png) =>
  files.keepInputImages([{ type: "base64", base64: bytes.toString("base64") }]);

const blobPath = (fileId: string) => join(dataDir, "files", fileId.slice(-4, -2), fileId.slice(-2), fileId);

async function blobs(): Promise<string[]> {
  const names = await readdir(join(dataDir, "files"), { recursive: true });
  return names.map((name) => name.split("/").at(-1) ?? "").filter((name) => name.length === 36);
}

const sweep = (files: Files, name: "files-expiry" | "files-orphans") =>
  files.ticks.find((tick) => tick.name === name)?.run();

describe("a generated image", () => {
  test("is durable under its id, and has one address for 24 hours from its generation", async () => {
    const files = await open();
    const kept = await keepImage(files);
    const expires = Math.floor(nowMs / 1_000) + DAY_SECONDS;
    expect(kept.url).toMatch(
      new RegExp(`^https://promptd\\.example\\.org/files/${kept.fileId}\\.png\\?e=${expires}&k=1&s=[\\w-]{22}$`),
    );
    expect(kept).toMatchObject({
      mediaType: "image/png",
      keyId: 1,
      generatedAtMs: nowMs,
      expiresAtMs: expires * 1_000,
    });
    expect(await blobs()).toEqual([kept.fileId]);
  });

  test("is recorded with the run's last transaction, once, however often that is sent", async () => {
    const files = await open();
    const kept = await keepImage(files);
    await record(files, kept);
    await record(files, kept);
    const rows = await db.query("select *, encode(sha256, 'hex') as hash from files");
    expect(rows).toMatchObject([
      {
        id: kept.fileId,
        account_id: OWNER.accountId,
        run_id: OWNER.runId,
        attempt: 1,
        kind: "output",
        bytes: kept.bytes,
        mime: "image/png",
        key_id: 1,
        hash: kept.sha256,
        generated_at: new Date(nowMs),
        expires_at: new Date(kept.expiresAtMs),
        deleted_at: null,
      },
    ]);
  });

  test("is answered with its type, its remaining life and nothing that lets it act as a page", async () => {
    const files = await open();
    const kept = await keepImage(files);
    nowMs += 1_000_000;
    const answer = await get(files, kept.url);
    expect(answer.status).toBe(200);
    expect("headers" in answer && answer.headers).toEqual({
      "Content-Type": "image/png",
      "Content-Length": String(kept.bytes),
      "Content-Disposition": `inline; filename="${kept.fileId}.png"`,
      "Accept-Ranges": "bytes",
      ETag: `"${kept.fileId}"`,
      "Cache-Control": "public, max-age=85399, immutable", // 86,400 - 1,000, less the part of a second before
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "default-src 'none'; sandbox",
      "Cross-Origin-Resource-Policy": "cross-origin",
      "Access-Control-Allow-Origin": "*",
      "Referrer-Policy": "no-referrer",
    });
    expect("body" in answer && (await sharp(answer.body ?? Buffer.alloc(0)).metadata()).width).toBe(60);
  });

  test("is answered to HEAD with the same headers and no body", async () => {
    const files = await open();
    const kept = await keepImage(files);
    const [head, whole] = [await get(files, kept.url, { method: "HEAD" }), await get(files, kept.url)];
    expect(head).toEqual({ ...whole, body: null });
  });

  test.each([
    ["bytes=0-3", 206, 0, 3],
    ["bytes=4-", 206, 4, null],
    ["bytes=-5", 206, -5, null],
    ["bytes=0-", 206, 0, null],
    ["bytes=0-0,4-5", 200, 0, null],
    ["bytes=9999999-", 200, 0, null],
    ["bytes=5-2", 200, 0, null],
    ["bytes=-0", 200, 0, null],
    ["bytes=-", 200, 0, null],
    ["bytes=a-b", 200, 0, null],
    ["items=0-3", 200, 0, null],
    ["bytes=99999999999999999999-", 200, 0, null],
  ])("range %s is answered %i", async (range, status, start, end) => {
    const files = await open();
    const kept = await keepImage(files);
    const whole = await get(files, kept.url);
    const part = await get(files, kept.url, { range });
    if (!("body" in whole) || !("body" in part) || whole.body === null) throw new Error("no body");
    const expected = whole.body.subarray(start, end === null ? undefined : end + 1);
    expect(part.status).toBe(status);
    expect(part.body).toEqual(expected);
    expect(part.headers["Content-Length"]).toBe(String(expected.length));
    const first = whole.body.length - expected.length;
    const shown = end === null ? `bytes ${first}-${kept.bytes - 1}/${kept.bytes}` : `bytes 0-3/${kept.bytes}`;
    expect(part.headers["Content-Range"]).toBe(status === 206 ? shown : undefined);
  });

  test("is not sent again to a caller who names its tag, and not in parts to one who has parts of another", async () => {
    const files = await open();
    const kept = await keepImage(files);
    const tag = `"${kept.fileId}"`;
    for (const ifNoneMatch of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      expect(await get(files, kept.url, { ifNoneMatch })).toMatchObject({
        status: 304,
        headers: { ETag: tag },
        body: null,
      });
    }
    expect((await get(files, kept.url, { ifNoneMatch: '"other"' })).status).toBe(200);
    expect((await get(files, kept.url, { range: "bytes=0-3", ifRange: tag })).status).toBe(206);
    expect((await get(files, kept.url, { range: "bytes=0-3", ifRange: '"other"' })).status).toBe(200);
  });

  test("expires at its second and says so for ever, also when its bytes and its row are gone", async () => {
    const files = await open();
    const kept = await keepImage(files);
    nowMs = kept.expiresAtMs - 1_000;
    expect((await get(files, kept.url)).status).toBe(200);
    nowMs = kept.expiresAtMs - 1;
    expect((await get(files, kept.url)).status).toBe(200);
    const gone = {
      status: "GONE_ERROR",
      message: "This file expired on 2026-11-21 at 10:15 UTC. Generated files are kept for 24 hours.",
      data: { reason: "FILE_EXPIRED" },
    };
    for (const ms of [0, 1_000, 400 * 24 * HOUR_MS]) {
      nowMs = kept.expiresAtMs + ms;
      expect(await get(files, kept.url)).toEqual(gone);
      await rm(blobPath(kept.fileId), { force: true });
    }
  });

  test.each([
    [60, "1 minute"],
    [5_400, "90 minutes"],
    [1, "1 second"],
    [172_800, "48 hours"],
  ])("with a life of %i seconds its end speaks of %s", async (ttlSeconds, words) => {
    const files = await open({ ttlSeconds });
    const kept = await keepImage(files);
    nowMs += ttlSeconds * 1_000;
    expect(await get(files, kept.url)).toMatchObject({
      message: expect.stringContaining(`kept for ${words}.`) as string,
    });
  });

  test("is unknown with one text for a bad signature, a wrong ending, an unknown id and lost bytes", async () => {
    const files = await open();
    const kept = await keepImage(files);
    const other = await keepImage(files);
    await unlink(blobPath(other.fileId));
    const unknown = {
      status: "NOT_FOUND_ERROR",
      message: "No file has this address. Use the address exactly as the run gave it.",
      data: null,
    };
    for (const address of [
      other.url,
      `${kept.url}x`,
      kept.url.replace(".png", ".jpg"),
      kept.url.replace(kept.fileId, OWNER.runId),
      kept.url.replace(/\?.*/, ""),
      kept.url.replace("/files/", "/files/..%2f"),
      kept.url.replace(kept.fileId, "..%2f..%2fsecret"),
      kept.url.replace(kept.fileId, "%00"),
    ]) {
      expect(await get(files, address)).toEqual(unknown);
    }
  });

  test("is unknown when a link stands in its place", async () => {
    const files = await open();
    const kept = await keepImage(files);
    await writeFile(join(dataDir, "private"), "private");
    await unlink(blobPath(kept.fileId));
    await symlink(join(dataDir, "private"), blobPath(kept.fileId));
    expect((await get(files, kept.url)).status).toBe("NOT_FOUND_ERROR");
    expect((await get(files, kept.url, { method: "HEAD" })).status).toBe("NOT_FOUND_ERROR");
  });

  test.each([
    ["an SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), "cannot be read"],
    ["a cut PNG", Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"), "cannot be read"],
    [
      "2.5 gigapixels",
      writePng({ width: 50_000, height: 50_000, depth: 1, colour: 0 }, Buffer.alloc(100)),
      "is too large",
    ],
  ])("that is %s is refused with a sentence and not stored", async (_name, bytes, words) => {
    const files = await open();
    const refused = await files.keepOutput({ bytes, mediaType: "image/png", modality: "image" }, never);
    expect(refused).toEqual({ kind: "refused", message: `The model returned an image that ${words}.` });
    expect(await blobs()).toEqual([]);
  });
});

describe("a generated video", () => {
  const mp4 = Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08free", "latin1");
  const webm = Buffer.from("1a45dfa39f4286810142f7810142f2810442f381084282847765626d", "hex");
  const matroska = Buffer.from("1a45dfa3a34286810142f7810142f2810442f381084282886d6174726f736b61", "hex");
  const keep = (files: Files, bytes: Buffer) =>
    files.keepOutput({ content: bytes, mediaType: "video/anything", modality: "video" }, never);

  test.each([
    ["video/mp4", "mp4", mp4],
    ["video/webm", "webm", webm],
  ])(
    "is published as %s because of its first bytes, whatever the provider called it",
    async (mediaType, ending, bytes) => {
      const files = await open();
      const kept = await keep(files, bytes);
      if (kept.kind !== "kept") throw new Error(kept.message);
      expect(kept).toMatchObject({ mediaType, bytes: bytes.length });
      expect(kept.url).toContain(`.${ending}?`);
      expect(await get(files, kept.url)).toMatchObject({ status: 200, body: bytes });
    },
  );

  test.each([
    ["text", Buffer.from("<html>not a video</html>")],
    ["an image", Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1")],
    ["Matroska", matroska],
    ["nothing", Buffer.alloc(0)],
  ])("that is %s is refused", async (_name, bytes) => {
    const message = "The model returned a video that cannot be read.";
    expect(await keep(await open(), bytes)).toEqual({ kind: "refused", message });
  });

  test("over 200 MiB is refused", async () => {
    const large = Buffer.alloc(200 * 1_048_576 + 1);
    mp4.copy(large);
    expect(await keep(await open(), large)).toMatchObject({ kind: "refused" });
    expect(await blobs()).toEqual([]);
  });
});

describe("image inputs", () => {
  test("Base64 becomes a blob and a reference, an address stays one in its parsed form", async () => {
    const files = await open();
    const wrapped = (png.toString("base64").match(/.{1,76}/g) ?? []).join("\r\n");
    const stored = await files.keepInputImages([
      { type: "url", url: "HTTPS://Images.Example.org:443/a b.png" },
      { type: "base64", base64: wrapped },
    ]);
    expect(stored).toMatchObject([
      { type: "url", url: "https://images.example.org/a%20b.png" },
      { type: "file", bytes: png.length, mediaType: "image/png" },
    ]);
    expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
    await db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    await db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    expect(await db.query("select kind, attempt, bytes, key_id, expires_at from files")).toEqual([
      { kind: "input", attempt: 0, bytes: png.length, key_id: null, expires_at: new Date(nowMs + 24.5 * HOUR_MS) },
    ]);
  });

  test("are loaded in their order, fetched or read", async () => {
    const files = await open();
    const blue = await sharp({ create: { width: 20, height: 10, channels: 4, background: "#0000ff80" } })
      .webp()
      .toBuffer();
    host.routes.set("/blue", (_request, response) => response.writeHead(200).end(blue));
    const [file] = await keepInput(files);
    const outcome = await files.loadImages([url("/blue"), file as StoredImage, url("/blue")], LIMITS, never);
    if (outcome.kind !== "loaded") throw new Error(outcome.message);
    expect(outcome.images.map((image) => image.mediaType)).toEqual(["image/png", "image/jpeg", "image/png"]);
    const widths = await Promise.all(outcome.images.map(async ({ bytes }) => (await sharp(bytes).metadata()).width));
    expect(widths).toEqual([20, 60, 20]);
  });

  const url = (path: string): StoredImage => ({ type: "url", url: `https://images.example.org${path}` });

  test("that cannot be fetched give one sentence for every cause", async () => {
    const files = await open({ fetch: { network: host.network, trusted: host.cert, times: { headersMs: 200 } } });
    host.routes.set("/away", (_request, response) => response.writeHead(302, { location: "https://10.0.0.1/" }).end());
    host.routes.set("/broken", (_request, response) => response.writeHead(500).end());
    host.routes.set("/silent", () => {});
    host.names.set("private.example.org", ["10.0.0.1"]);
    host.names.set("nowhere.example.org", []);
    const refused = { kind: "refused", message: "The image at position 2 could not be fetched." };
    const [file] = await keepInput(files);
    for (const image of [
      url("/missing"),
      url("/away"),
      url("/broken"),
      url("/silent"),
      { type: "url", url: "https://private.example.org/" } as const,
      { type: "url", url: "https://nowhere.example.org/" } as const,
    ]) {
      expect(await files.loadImages([file as StoredImage, image], LIMITS, never)).toEqual(refused);
    }
  });

  test("that are too large or no image say so", async () => {
    const files = await open();
    host.routes.set("/large", (_request, response) => response.writeHead(200).end(Buffer.alloc(10 * 1_048_576 + 1)));
    host.routes.set("/page", (_request, response) => response.writeHead(200).end("<html></html>"));
    const bomb = writePng({ width: 50_000, height: 50_000, depth: 1, colour: 0 }, Buffer.alloc(100));
    host.routes.set("/bomb", (_request, response) => response.writeHead(200).end(bomb));
    const messageOf = async (path: string) => {
      const outcome = await files.loadImages([url(path)], LIMITS, never);
      return outcome.kind === "refused" ? outcome.message : "loaded";
    };
    expect(await messageOf("/large")).toBe("The image at position 1 is larger than 10 MiB.");
    expect(await messageOf("/page")).toBe(
      "The image at position 1 is damaged or is not a PNG, JPEG, WebP or GIF image.",
    );
    expect(await messageOf("/bomb")).toBe(
      "The image at position 1 is larger than 50 megapixels or 8,192 pixels a side.",
    );
  });

  test("over 20 MiB together are refused, fetched ones counted as well", async () => {
    const files = await open();
    const large = Buffer.concat([png, Buffer.alloc(9 * 1_048_576)]);
    host.routes.set("/large", (_request, response) => response.writeHead(200).end(large));
    const [file] = await keepInput(files, large);
    expect((await files.loadImages([file as StoredImage, url("/large")], LIMITS, never)).kind).toBe("loaded");
    expect(await files.loadImages([file as StoredImage, url("/large"), url("/large")], LIMITS, never)).toEqual({
      kind: "refused",
      message: "The images of this run are larger than 20 MiB together.",
    });
  });

  test("whose blob is missing are an outage and not the caller's fault", async () => {
    const files = await open();
    const [file] = await keepInput(files);
    for (const name of await blobs()) await unlink(blobPath(name));
    await expect(files.loadImages([file as StoredImage], LIMITS, never)).rejects.toThrow("Do all processes share");
  });

  test("are given up when the run is", async () => {
    const files = await open();
    const stop = new AbortController();
    host.routes.set("/silent", () => stop.abort(new Error("canceled")));
    await expect(files.loadImages([url("/silent")], LIMITS, stop.signal)).rejects.toThrow("canceled");
    await expect(files.loadImages([url("/silent")], LIMITS, stop.signal)).rejects.toThrow("canceled");
  });

  test("no images load as none", async () => {
    const files = await open();
    expect(await files.keepInputImages([])).toEqual([]);
    await db.tx((tx) => files.recordInputs(tx, OWNER, []));
    expect(await files.loadImages([], LIMITS, never)).toEqual({ kind: "loaded", images: [] });
  });
});

describe("the sweeper", () => {
  const states = () =>
    db.query("select deleted_at is not null as marked, removed_at is not null as removed from files order by id");

  test("marks a file when it expires and removes its bytes an hour later; the row stays", async () => {
    const files = await open();
    const kept = await keepImage(files);
    await record(files, kept);
    const at = async (ms: number) => {
      await setDatabaseTime(ms);
      await sweep(files, "files-expiry");
      return [await states(), (await blobs()).length];
    };
    expect(await at(kept.expiresAtMs - 1)).toEqual([[{ marked: false, removed: false }], 1]);
    expect(await at(kept.expiresAtMs)).toEqual([[{ marked: true, removed: false }], 1]);
    expect(await at(kept.expiresAtMs + HOUR_MS - 1)).toEqual([[{ marked: true, removed: false }], 1]);
    expect(await at(kept.expiresAtMs + HOUR_MS)).toEqual([[{ marked: true, removed: true }], 0]);
    expect(await at(kept.expiresAtMs + 2 * HOUR_MS)).toEqual([[{ marked: true, removed: true }], 0]);
    nowMs = kept.expiresAtMs;
    expect(await get(files, kept.url)).toMatchObject({ data: { reason: "FILE_EXPIRED" } });
  });

  test.each(["file.after_mark", "file.after_unlink"])(
    "broken off at %s, the next turn ends the work",
    async (point) => {
      const files = await open();
      const kept = await keepImage(files);
      await record(files, kept);
      await setDatabaseTime(kept.expiresAtMs + HOUR_MS);
      enableFaults(`${point}:throw@1`);
      await expect(sweep(files, "files-expiry")).rejects.toThrow("fault injected");
      await sweep(files, "files-expiry");
      expect([await states(), await blobs()]).toEqual([[{ marked: true, removed: true }], []]);
    },
  );

  test("two turns at once do the work once between them", async () => {
    const files = await open();
    const kept = await Promise.all(Array.from({ length: 12 }, () => keepImage(files)));
    await record(files, ...kept);
    await setDatabaseTime(nowMs + 26 * HOUR_MS);
    await Promise.all([sweep(files, "files-expiry"), sweep(files, "files-expiry")]);
    await sweep(files, "files-expiry");
    expect(await states()).toEqual(kept.map(() => ({ marked: true, removed: true })));
    expect(await blobs()).toEqual([]);
  });

  test("removes the inputs of a run a day after its longest life", async () => {
    const files = await open();
    const stored = await keepInput(files);
    await db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    await setDatabaseTime(nowMs + 25.5 * HOUR_MS - 1);
    await sweep(files, "files-expiry");
    expect(await blobs()).toHaveLength(1);
    await setDatabaseTime(nowMs + 25.5 * HOUR_MS);
    await sweep(files, "files-expiry");
    expect(await blobs()).toEqual([]);
  });

  /** Blobs are dated by the file system as well; this puts that date beside the injected clock. */
  const dateBlobs = async (ms: number) => {
    for (const name of await blobs()) await utimes(blobPath(name), ms / 1_000, ms / 1_000);
  };

  test("removes a blob whose transaction never came, after two hours, and no other", async () => {
    const files = await open();
    const recorded = await keepImage(files);
    await record(files, recorded);
    enableFaults("blob.after_rename:throw@1");
    await expect(keepImage(files)).rejects.toThrow(StorageFailure);
    expect(await blobs()).toHaveLength(2);
    await dateBlobs(nowMs);
    await setDatabaseTime(nowMs + 2 * HOUR_MS);
    await sweep(files, "files-orphans");
    expect(await blobs()).toHaveLength(2);
    await setDatabaseTime(nowMs + 2 * HOUR_MS + 1);
    await sweep(files, "files-orphans");
    await sweep(files, "files-orphans");
    expect(await blobs()).toEqual([recorded.fileId]);
  });

  test("keeps a blob that only looks old: by the maker's clock, or by the store's", async () => {
    const files = await open();
    const start = nowMs;
    nowMs = start - 24 * HOUR_MS;
    await keepImage(files);
    await dateBlobs(start);
    nowMs = start;
    await keepImage(files);
    await utimes(blobPath((await blobs()).sort().at(-1) ?? ""), 1, 1);
    await setDatabaseTime(start + HOUR_MS);
    await sweep(files, "files-orphans");
    expect(await blobs()).toHaveLength(2);
  });

  test("removes what an interrupted write left, and leaves strange files alone", async () => {
    const files = await open();
    const partial = join(dataDir, "files", "partial", `${OWNER.runId}.0123`);
    const strange = join(dataDir, "files", "ab", "cd", "notes.txt");
    await mkdir(dirname(strange), { recursive: true });
    for (const path of [partial, strange]) {
      await writeFile(path, "x");
      await utimes(path, nowMs / 1_000, nowMs / 1_000);
    }
    await setDatabaseTime(nowMs + 3 * HOUR_MS);
    await sweep(files, "files-orphans");
    expect(await readdir(dirname(partial))).toEqual([]);
    expect(await readdir(dirname(strange))).toEqual(["notes.txt"]);
  });
});

describe("the signing key", () => {
  const NEXT = Buffer.alloc(32, 2);

  test("is the same after a restart, so addresses stay valid", async () => {
    const kept = await keepImage(await open());
    const again = await open();
    expect((await get(again, kept.url)).status).toBe(200);
    expect((await keepImage(again)).keyId).toBe(1);
  });

  test("after a rotation signs with a new number; the one before opens its files until they expire", async () => {
    const kept = await keepImage(await open());
    const rotated = await open({ secret: NEXT, previousSecret: SECRET });
    const fresh = await keepImage(rotated);
    expect(fresh.keyId).toBe(2);
    expect([(await get(rotated, kept.url)).status, (await get(rotated, fresh.url)).status]).toEqual([200, 200]);
    nowMs = kept.expiresAtMs;
    expect((await get(rotated, kept.url)).status).toBe("GONE_ERROR");
  });

  test("that was dropped opens nothing", async () => {
    const kept = await keepImage(await open());
    await open({ secret: NEXT, previousSecret: SECRET });
    const dropped = await open({ secret: NEXT });
    expect((await get(dropped, kept.url)).status).toBe("NOT_FOUND_ERROR");
  });

  test("that this database does not know is refused, and changes nothing", async () => {
    await open();
    await expect(open({ secret: NEXT })).rejects.toThrow("not the one this database was set up with");
    await expect(open({ secret: NEXT, previousSecret: Buffer.alloc(32, 3) })).rejects.toThrow("same secret");
    expect(await db.query("select id from file_keys")).toEqual([{ id: 1 }]);
  });

  test("from before a rotation is refused without the newer one beside it", async () => {
    await open();
    await open({ secret: NEXT, previousSecret: SECRET });
    await expect(open({ secret: SECRET })).rejects.toThrow("not the one this database");
    const back = await open({ secret: SECRET, previousSecret: NEXT });
    expect((await keepImage(back)).keyId).toBe(3);
  });

  test("is registered once by processes that start together", async () => {
    await Promise.all(Array.from({ length: 6 }, () => open()));
    expect(await db.query("select id from file_keys")).toEqual([{ id: 1 }]);
    await Promise.all(Array.from({ length: 6 }, () => open({ secret: NEXT, previousSecret: SECRET })));
    expect(await db.query("select id, retired_at is null as live from file_keys order by id")).toEqual([
      { id: 1, live: false },
      { id: 2, live: true },
    ]);
  });
});

test("with a bucket in place of the disk, files live the same life", async () => {
  const bucket = await startBucketServer();
  try {
    const files = await open({ bucket: bucket.options });
    const kept = await keepImage(files);
    const stored = await keepInput(files);
    await record(files, kept);
    await db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    expect(await get(files, kept.url, { range: "bytes=-4" })).toMatchObject({ status: 206 });
    expect(await get(files, kept.url, { method: "HEAD" })).toMatchObject({ status: 200, body: null });
    expect(await files.loadImages(stored, LIMITS, never)).toMatchObject({ kind: "loaded" });
    await sweep(files, "files-orphans");
    expect((await get(files, kept.url)).status).toBe(200);
    await setDatabaseTime(nowMs + 26 * HOUR_MS);
    await sweep(files, "files-expiry");
    expect((await get(files, kept.url)).status).toBe("NOT_FOUND_ERROR"); // the server's own clock still stands before e
    expect(bucket.requests.filter((request) => request.startsWith("DELETE"))).toHaveLength(2);
    expect(await readdir(dataDir)).toEqual([]);
  } finally {
    await bucket.close();
  }
});
