/** Image inputs: stored as references, fetched or read in order, each refused with one sentence. */
import { unlink } from "node:fs/promises";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { StorageFailure, type StoredImage } from "../../src/files/index.ts";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import { blobPath, storeInput, LIMITS, listBlobs, never, openFiles, OWNER, useFiles } from "./files-fixture.ts";
import { writePng } from "./png-bytes.ts";
import { until } from "../support/promptd-process.ts";

const rig = useFiles();

describe("image inputs", () => {
  test("Base64 becomes a blob and a reference; an address stays an address, in its parsed form", async () => {
    const files = await openFiles(rig);
    const wrapped = (rig.png.toString("base64").match(/.{1,76}/g) ?? []).join("\r\n");
    const stored = await files.storeInputImages([
      { type: "url", url: "HTTPS://Images.Example.org:443/a b.png" },
      { type: "base64", base64: wrapped },
    ]);
    expect(stored).toMatchObject([
      { type: "url", url: "https://images.example.org/a%20b.png" },
      { type: "file", bytes: rig.png.length, mediaType: "image/png" },
    ]);
    expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
    await rig.db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    await rig.db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    expect(await rig.db.query("select kind, attempt, bytes, key_id, expires_at from files")).toEqual([
      {
        kind: "input",
        attempt: 0,
        bytes: rig.png.length,
        key_id: null,
        expires_at: new Date(rig.nowMs + 300_000),
      },
    ]);
  });

  test("are loaded in order, fetched or read", async () => {
    const files = await openFiles(rig);
    const blue = await sharp({ create: { width: 20, height: 10, channels: 4, background: "#0000ff80" } })
      .webp()
      .toBuffer();
    rig.host.routes.set("/blue", (_request, response) => response.writeHead(200).end(blue));
    const [file] = await storeInput(files, rig.png);
    const outcome = await files.loadImages([url("/blue"), file as StoredImage, url("/blue")], LIMITS, never);
    if (outcome.kind !== "loaded") throw new Error(outcome.message);
    expect(outcome.images.map((image) => image.mediaType)).toEqual(["image/png", "image/jpeg", "image/png"]);
    const widths = await Promise.all(outcome.images.map(async ({ bytes }) => (await sharp(bytes).metadata()).width));
    expect(widths).toEqual([20, 60, 20]);
  });

  const url = (path: string): StoredImage => ({ type: "url", url: `https://images.example.org${path}` });

  test("that cannot be fetched get the same message for every cause", async () => {
    const files = await openFiles(rig);
    const impatient = await openFiles(rig, {
      fetch: { network: rig.host.network, trusted: rig.host.cert, times: { headersMs: 200 } },
    });
    rig.host.routes.set("/away", (_request, response) =>
      response.writeHead(302, { location: "https://10.0.0.1/" }).end(),
    );
    rig.host.routes.set("/broken", (_request, response) => response.writeHead(500).end());
    rig.host.routes.set("/silent", () => {});
    rig.host.names.set("private.example.org", ["10.0.0.1"]);
    rig.host.names.set("nowhere.example.org", []);
    const refused = { kind: "refused", message: "The image at position 2 could not be fetched." };
    const [file] = await storeInput(files, rig.png);
    const silent = url("/silent");
    const images = [
      [url("/missing"), "images.example.org: it returned 404"],
      [url("/away"), "10.0.0.1: it is not on the public internet, or does not use https"],
      [url("/broken"), "images.example.org: it returned 500"],
      [silent, "images.example.org: it did not respond in time"],
      [{ type: "url", url: "https://private.example.org/" }, "private.example.org: it is not on the public internet"],
      [{ type: "url", url: "https://nowhere.example.org/" }, "nowhere.example.org: the name does not resolve (DNS)"],
    ] as const;
    for (const [image, why] of images) {
      const asked = image === silent ? impatient : files;
      const outcome = await asked.loadImages([file as StoredImage, image], LIMITS, never);
      // The detail is for operators.
      expect(outcome).toEqual({ ...refused, detail: expect.stringContaining(`Image 2: ${why}`) });
    }
  });

  test("that are too large or not an image say so", async () => {
    const files = await openFiles(rig);
    rig.host.routes.set("/large", (_request, response) =>
      response.writeHead(200).end(Buffer.alloc(10 * 1_048_576 + 1)),
    );
    rig.host.routes.set("/page", (_request, response) => response.writeHead(200).end("<html></html>"));
    const bomb = writePng({ width: 50_000, height: 50_000, depth: 1, color: 0 }, Buffer.alloc(100));
    rig.host.routes.set("/bomb", (_request, response) => response.writeHead(200).end(bomb));
    const messageOf = async (path: string) => {
      const outcome = await files.loadImages([url(path)], LIMITS, never);
      return outcome.kind === "refused" ? outcome.message : "loaded";
    };
    expect(await messageOf("/large")).toBe("The image at position 1 is larger than 10 MiB.");
    expect(await messageOf("/page")).toBe(
      "The image at position 1 is damaged or is not a PNG, JPEG, WebP, or GIF image.",
    );
    expect(await messageOf("/bomb")).toBe(
      "The image at position 1 is larger than 50 megapixels or 8,192 pixels per side.",
    );
  });

  test("over 20 MiB in total are refused, including fetched images", async () => {
    const files = await openFiles(rig);
    const large = Buffer.concat([rig.png, Buffer.alloc(9 * 1_048_576)]);
    rig.host.routes.set("/large", (_request, response) => response.writeHead(200).end(large));
    const [file] = await storeInput(files, large);
    expect((await files.loadImages([file as StoredImage, url("/large")], LIMITS, never)).kind).toBe("loaded");
    expect(await files.loadImages([file as StoredImage, url("/large"), url("/large")], LIMITS, never)).toEqual({
      kind: "refused",
      message: "The images of this run are larger than 20 MiB in total.",
    });
  });

  test("whose blob is missing are an outage, not the caller's fault", async () => {
    const files = await openFiles(rig);
    const [file] = await storeInput(files, rig.png);
    for (const name of await listBlobs(rig)) await unlink(blobPath(rig, name));
    await expect(files.loadImages([file as StoredImage], LIMITS, never)).rejects.toThrow("Do all processes share");
  });

  test("are abandoned when the run is", async () => {
    const files = await openFiles(rig);
    const stop = new AbortController();
    rig.host.routes.set("/silent", () => stop.abort(new Error("canceled")));
    await expect(files.loadImages([url("/silent")], LIMITS, stop.signal)).rejects.toThrow("canceled");
    await expect(files.loadImages([url("/silent")], LIMITS, stop.signal)).rejects.toThrow("canceled");
  });

  test("leave nothing behind if one of them cannot be stored", async () => {
    const files = await openFiles(rig);
    const image = { type: "base64", base64: rig.png.toString("base64") } as const;
    enableFaults("blob.after_rename:throw@3");
    await expect(files.storeInputImages([image, image, image])).rejects.toThrow(StorageFailure);
    await until(async () => (await listBlobs(rig)).length === 1); // the sweep's: its bytes were complete when its own write failed
  });

  test("no images load as an empty list", async () => {
    const files = await openFiles(rig);
    expect(await files.storeInputImages([])).toEqual([]);
    await rig.db.tx((tx) => files.recordInputs(tx, OWNER, []));
    expect(await files.loadImages([], LIMITS, never)).toEqual({ kind: "loaded", images: [] });
  });
});
