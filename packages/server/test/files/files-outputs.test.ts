/** Generated images and videos: how they are stored, and what their addresses return before and after they expire. */
import { rm, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import type { Files } from "../../src/files/index.ts";
import {
  blobPath,
  DAY_SECONDS,
  getFile,
  HOUR_MS,
  storeImage,
  listBlobs,
  never,
  openFiles,
  OWNER,
  recordOutputs,
  useFiles,
} from "./files-fixture.ts";
import { writePng } from "./png-bytes.ts";

const rig = useFiles();

describe("a generated image", () => {
  test("is durable under its id, and has one address for 24 hours after its generation", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    const expires = Math.floor(rig.nowMs / 1_000) + DAY_SECONDS;
    expect(stored.url).toMatch(
      new RegExp(`^https://promptd\\.example\\.org/files/${stored.fileId}\\.png\\?e=${expires}&k=1&s=[\\w-]{22}$`),
    );
    expect(stored).toMatchObject({
      mediaType: "image/png",
      keyId: 1,
      generatedAtMs: rig.nowMs,
      expiresAtMs: expires * 1_000,
    });
    expect(await listBlobs(rig)).toEqual([stored.fileId]);
  });

  test("is recorded with the run's last transaction, once, however often that is repeated", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    await recordOutputs(rig, files, [stored]);
    await recordOutputs(rig, files, [stored]);
    const rows = await rig.db.query("select *, encode(sha256, 'hex') as hash from files");
    expect(rows).toMatchObject([
      {
        id: stored.fileId,
        account_id: OWNER.accountId,
        run_id: OWNER.runId,
        attempt: 1,
        kind: "output",
        bytes: stored.bytes,
        mime: "image/png",
        key_id: 1,
        hash: stored.sha256,
        generated_at: new Date(rig.nowMs),
        expires_at: new Date(stored.expiresAtMs),
        deleted_at: null,
      },
    ]);
  });

  test("is served with its type, its remaining lifetime, and nothing that lets it act as a page", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    rig.nowMs += 1_000_000;
    const answer = await getFile(files, stored.url);
    expect(answer.status).toBe(200);
    expect("headers" in answer && answer.headers).toEqual({
      "Content-Type": "image/png",
      "Content-Length": String(stored.bytes),
      "Content-Disposition": `inline; filename="${stored.fileId}.png"`,
      "Accept-Ranges": "bytes",
      ETag: `"${stored.fileId}"`,
      "Cache-Control": "public, max-age=85399, immutable", // 86,400 - 1,000, less the part of a second before
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "default-src 'none'; sandbox",
      "Cross-Origin-Resource-Policy": "cross-origin",
      "Access-Control-Allow-Origin": "*",
      "Referrer-Policy": "no-referrer",
    });
    expect("body" in answer && (await sharp(answer.body ?? Buffer.alloc(0)).metadata()).width).toBe(60);
  });

  test("responds to HEAD with the same headers and no body", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    const [head, whole] = [await getFile(files, stored.url, { method: "HEAD" }), await getFile(files, stored.url)];
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
  ])("range %s returns %i", async (range, status, start, end) => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    const whole = await getFile(files, stored.url);
    const part = await getFile(files, stored.url, { range });
    if (!("body" in whole) || !("body" in part) || whole.body === null) throw new Error("no body");
    const expected = whole.body.subarray(start, end === null ? undefined : end + 1);
    expect(part.status).toBe(status);
    expect(part.body).toEqual(expected);
    expect(part.headers["Content-Length"]).toBe(String(expected.length));
    const first = whole.body.length - expected.length;
    const shown = end === null ? `bytes ${first}-${stored.bytes - 1}/${stored.bytes}` : `bytes 0-3/${stored.bytes}`;
    expect(part.headers["Content-Range"]).toBe(status === 206 ? shown : undefined);
  });

  test("is not sent again to a caller who sends its tag, nor in parts to one who has parts of another file", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    const tag = `"${stored.fileId}"`;
    for (const ifNoneMatch of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      expect(await getFile(files, stored.url, { ifNoneMatch })).toMatchObject({
        status: 304,
        headers: { ETag: tag },
        body: null,
      });
    }
    expect((await getFile(files, stored.url, { ifNoneMatch: '"other"' })).status).toBe(200);
    expect((await getFile(files, stored.url, { range: "bytes=0-3", ifRange: tag })).status).toBe(206);
    expect((await getFile(files, stored.url, { range: "bytes=0-3", ifRange: '"other"' })).status).toBe(200);
  });

  test("expires at its exact second and says so forever, even when its bytes and row are gone", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    rig.nowMs = stored.expiresAtMs - 1_000;
    expect((await getFile(files, stored.url)).status).toBe(200);
    rig.nowMs = stored.expiresAtMs - 1;
    expect((await getFile(files, stored.url)).status).toBe(200);
    const gone = {
      status: "GONE_ERROR",
      message:
        "This file expired on 2026-11-21 at 10:15 UTC. A run's files are available for 24 hours. A prompt's sample gets a new address every day.",
      data: { reason: "FILE_EXPIRED" },
    };
    for (const ms of [0, 1_000, 400 * 24 * HOUR_MS]) {
      rig.nowMs = stored.expiresAtMs + ms;
      expect(await getFile(files, stored.url)).toEqual(gone);
      await rm(blobPath(rig, stored.fileId), { force: true });
    }
  });

  test.each([
    [60, "1 minute"],
    [5_400, "90 minutes"],
    [1, "1 second"],
    [172_800, "48 hours"],
  ])("with a lifetime of %i seconds its expiry message says %s", async (ttlSeconds, words) => {
    const files = await openFiles(rig, { ttlSeconds });
    const stored = await storeImage(files, rig.png);
    rig.nowMs += ttlSeconds * 1_000;
    expect(await getFile(files, stored.url)).toMatchObject({
      message: expect.stringContaining(`available for ${words}.`) as string,
    });
  });

  test("is unknown, with one message for a bad signature, a wrong extension, an unknown id, and lost bytes", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    const other = await storeImage(files, rig.png);
    await unlink(blobPath(rig, other.fileId));
    const unknown = {
      status: "NOT_FOUND_ERROR",
      message:
        "There is no file at this address. Use the exact address from the run's output, or the one that the prompt shows now.",
      data: null,
    };
    for (const address of [
      other.url,
      `${stored.url}x`,
      stored.url.replace(".png", ".jpg"),
      stored.url.replace(stored.fileId, OWNER.runId),
      stored.url.replace(/\?.*/, ""),
      stored.url.replace("/files/", "/files/..%2f"),
      stored.url.replace(stored.fileId, "..%2f..%2fsecret"),
      stored.url.replace(stored.fileId, "%00"),
    ]) {
      expect(await getFile(files, address)).toEqual(unknown);
    }
  });

  test("is unknown if a symbolic link is in its place", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    await writeFile(join(rig.dataDir, "private"), "private");
    await unlink(blobPath(rig, stored.fileId));
    await symlink(join(rig.dataDir, "private"), blobPath(rig, stored.fileId));
    expect((await getFile(files, stored.url)).status).toBe("NOT_FOUND_ERROR");
    expect((await getFile(files, stored.url, { method: "HEAD" })).status).toBe("NOT_FOUND_ERROR");
  });

  test.each([
    ["an SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), "cannot be read"],
    ["a truncated PNG", Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"), "cannot be read"],
    [
      "2.5 gigapixels",
      writePng({ width: 50_000, height: 50_000, depth: 1, color: 0 }, Buffer.alloc(100)),
      "is too large",
    ],
  ])("that is %s is refused with a message and not stored", async (_name, bytes, words) => {
    const files = await openFiles(rig);
    const refused = await files.storeOutput(
      { accountId: "a", bytes, mediaType: "image/png", modality: "image" },
      never,
    );
    expect(refused).toEqual({ kind: "refused", message: `The model returned an image that ${words}.` });
    expect(await listBlobs(rig)).toEqual([]);
  });
});

describe("a generated video", () => {
  const mp4 = Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08free", "latin1");
  const webm = Buffer.from("1a45dfa39f4286810142f7810142f2810442f381084282847765626d", "hex");
  const matroska = Buffer.from("1a45dfa3a34286810142f7810142f2810442f381084282886d6174726f736b61", "hex");
  const store = (files: Files, bytes: Buffer) =>
    files.storeOutput({ content: bytes, mediaType: "video/anything", modality: "video" }, never);

  test.each([
    ["video/mp4", "mp4", mp4],
    ["video/webm", "webm", webm],
  ])(
    "is published as %s because of its first bytes, whatever the provider called it",
    async (mediaType, ending, bytes) => {
      const files = await openFiles(rig);
      const stored = await store(files, bytes);
      if (stored.kind !== "stored") throw new Error(stored.message);
      expect(stored).toMatchObject({ mediaType, bytes: bytes.length });
      expect(stored.url).toContain(`.${ending}?`);
      expect(await getFile(files, stored.url)).toMatchObject({ status: 200, body: bytes });
    },
  );

  test.each([
    ["text", Buffer.from("<html>not a video</html>")],
    ["an image", Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1")],
    ["Matroska", matroska],
    ["nothing", Buffer.alloc(0)],
  ])("that is %s is refused", async (_name, bytes) => {
    const message = "The model returned a video that cannot be read.";
    expect(await store(await openFiles(rig), bytes)).toEqual({ kind: "refused", message });
  });

  test("over 200 MiB is refused", async () => {
    const large = Buffer.alloc(200 * 1_048_576 + 1);
    mp4.copy(large);
    expect(await store(await openFiles(rig), large)).toMatchObject({ kind: "refused" });
    expect(await listBlobs(rig)).toEqual([]);
  });
});

describe("a video that a prompt shows", () => {
  const videoOf = async (files: Files, bytes: number) => {
    const content = Buffer.alloc(bytes);
    content.write("ftypisom", 4, "latin1");
    const stored = await files.storeOutput({ modality: "video", content, mediaType: "video/mp4" }, never);
    return stored.kind === "stored" ? stored.url : "";
  };

  test("is a copy of a run's video, of at most 20 MiB", async () => {
    const files = await openFiles(rig);
    const { accountId } = OWNER;
    const url = await videoOf(files, 20 * 1_048_576);
    const sample = await files.samples.take({ url, accountId }, never);
    expect(sample).toMatchObject({ kind: "stored", bytes: 20 * 1_048_576, mediaType: "video/mp4" });
    const larger = await videoOf(files, 20 * 1_048_576 + 1);
    const refused = await files.samples.take({ url: larger, accountId }, never);
    expect(refused).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("larger than 20 MiB") as string,
    });
  });
});
