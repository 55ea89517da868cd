import { createReadStream } from "node:fs";
import type { Clock } from "../../platform/clock.ts";
import { fault } from "../../platform/fault.ts";
import { checkBlobKey, isBlobKey, MARK_NAME, resolveRange } from "./blob-store.ts";
import type { BlobEntry, BlobStore, ByteRange, OpenBlob, OpenBody, SpooledFile } from "./blob-store.ts";
import { callS3, readText, type S3Options } from "./s3-request.ts";

const PREFIX = /^[A-Za-z0-9/_.-]{0,200}$/;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Blobs in an S3-compatible bucket, for installations whose processes share no disk. Addresses have the bucket in
 * the path, which every compatible server understands. Callers never see the bucket: files are passed through, since
 * it would answer 403 where an expired file must be 410.
 */
export function createS3Blobs(options: S3Options, clock: Clock): BlobStore {
  if (!BUCKET.test(options.bucket)) throw new Error(`"${options.bucket}" is no name of a bucket.`);
  if (!PREFIX.test(options.prefix)) throw new Error("The bucket's prefix may hold letters, digits and / _ . - only.");
  return new S3Blobs(options, clock);
}

class S3Blobs implements BlobStore {
  readonly #options: S3Options;
  readonly #clock: Clock;

  constructor(options: S3Options, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  async put(key: string, open: OpenBody, bytes: number): Promise<void> {
    const call = { method: "PUT", key: this.#keyOf(key), body: { open, bytes }, accept: [200] } as const;
    const answer = await callS3(call, this.#options, this.#clock);
    await readText(answer);
    await fault("blob.after_rename");
  }

  async putFile(key: string, file: SpooledFile): Promise<void> {
    await this.put(key, () => createReadStream(file.path), file.bytes);
    await file.discard();
  }

  async get(key: string, range: ByteRange | null): Promise<OpenBlob | null> {
    const asked = range === null ? null : await this.#headerOf(key, range);
    const call = { method: "GET", key: this.#keyOf(key), accept: [200, 206, 404, 416] } as const;
    const answer = await callS3(asked === null ? call : { ...call, range: asked }, this.#options, this.#clock);
    if (answer.statusCode === 200) return { body: answer, size: Number(answer.headers["content-length"]), part: null };
    const [, start, end, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(answer.headers["content-range"] ?? "") ?? [];
    if (answer.statusCode === 206 && size !== undefined) {
      return { body: answer, size: Number(size), part: { start: Number(start), end: Number(end) } };
    }
    answer.resume();
    return answer.statusCode === 404 ? null : this.get(key, null); // a range that does not fit gives the whole
  }

  async size(key: string): Promise<number | null> {
    const call = { method: "HEAD", key: this.#keyOf(key), accept: [200, 404] } as const;
    const answer = await callS3(call, this.#options, this.#clock);
    answer.resume();
    if (answer.statusCode !== 404) return Number(answer.headers["content-length"]);
    const found = await this.get(key, null); // an answer without a body does not say whether the bucket is there
    found?.body.destroy();
    return found?.size ?? null;
  }

  async delete(key: string): Promise<void> {
    const call = { method: "DELETE", key: this.#keyOf(key), accept: [200, 204, 404] } as const;
    (await callS3(call, this.#options, this.#clock)).resume();
  }

  /** The first form of listing, by last key: every compatible server knows it, and none can lose its place. */
  async *list(prefix: string): AsyncGenerator<BlobEntry> {
    let marker: string | null = "";
    while (marker !== null) {
      const query = { prefix: this.#options.prefix + prefix, marker };
      const answer = await callS3({ method: "GET", key: "", query, accept: [200] }, this.#options, this.#clock);
      const page = readPage(await readText(answer), this.#options.prefix.length);
      yield* page.entries;
      marker = page.next;
    }
  }

  get markLocation(): string {
    return `the object ${this.#options.prefix}${MARK_NAME} of the bucket`;
  }

  async readMark(): Promise<string | null> {
    const call = { method: "GET", key: this.#options.prefix + MARK_NAME, accept: [200, 404] } as const;
    const answer = await callS3(call, this.#options, this.#clock);
    const text = await readText(answer);
    return answer.statusCode === 404 ? null : text.trim() || null;
  }

  async writeMark(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const body = { open: () => [bytes], bytes: bytes.byteLength };
    const call = { method: "PUT", key: this.#options.prefix + MARK_NAME, body, accept: [200] } as const;
    await readText(await callS3(call, this.#options, this.#clock));
  }

  /** A bucket shows an object whole or not at all. */
  async discardPartial(): Promise<void> {}

  /** The last bytes are asked for by their places: not every server gives the right ones for `bytes=-n`. */
  async #headerOf(key: string, range: ByteRange): Promise<string | null> {
    if (range.kind === "from") return `bytes=${range.start}-${range.end ?? ""}`;
    const part = resolveRange(range, (await this.size(key)) ?? 0);
    return part === null ? null : `bytes=${part.start}-${part.end}`;
  }

  #keyOf(key: string): string {
    checkBlobKey(key);
    return this.#options.prefix + key;
  }
}

function readPage(xml: string, prefixLength: number): { entries: BlobEntry[]; next: string | null } {
  const objects = Array.from(xml.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, contents = ""]) => contents);
  const entries = objects.flatMap((contents) => {
    const key = (textOf(contents, "Key") ?? "").slice(prefixLength);
    const modifiedAtMs = Date.parse(textOf(contents, "LastModified") ?? "");
    return isBlobKey(key) && Number.isFinite(modifiedAtMs) ? [{ key, modifiedAtMs }] : [];
  });
  const isLast = textOf(xml, "IsTruncated") !== "true" || objects.length === 0;
  return { entries, next: isLast ? null : textOf(objects.at(-1) ?? "", "Key") };
}

/** Text of the first element of that name. */
function textOf(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  if (text === undefined || text === "") return null;
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}
