import { createReadStream } from "node:fs";
import type { Clock } from "../../platform/clock.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import {
  checkBlobKey,
  isBlobKey,
  MARK_NAME,
  resolveRange,
  type BlobEntry,
  type BlobStore,
  type ByteRange,
  type OpenBlob,
  type OpenBody,
  type SpooledFile,
} from "./blob-store.ts";
import { createS3Client, type CallS3, type S3Options } from "./s3-client.ts";

/**
 * Stores blobs in an S3-compatible bucket, for installations whose processes do not share a disk. Addresses have the bucket
 * in the path, which every compatible server supports. Callers never see the bucket: files pass through this service,
 * since the bucket would return 403 for an expired file, which must be 410.
 */
export function createS3Blobs(options: S3Options, clock: Clock): BlobStore {
  return new S3Blobs(options.prefix, createS3Client(options, clock));
}

class S3Blobs implements BlobStore {
  readonly #prefix: string;
  readonly #call: CallS3;

  constructor(prefix: string, call: CallS3) {
    this.#prefix = prefix;
    this.#call = call;
  }

  async put(key: string, open: OpenBody, bytes: number): Promise<void> {
    await this.#put(this.#keyOf(key), open, bytes);
    await faultPoint("blob.after_rename");
  }

  async putFile(key: string, file: SpooledFile): Promise<void> {
    await this.put(key, () => createReadStream(file.path), file.bytes);
    await file.discard();
  }

  async get(key: string, range: ByteRange | null): Promise<OpenBlob | null> {
    const header = range === null ? null : await this.#rangeHeader(key, range);
    const { statusCode, headers, body } = await this.#call({
      method: "GET",
      key: this.#keyOf(key),
      accept: [200, 206, 404, 416],
      ...(header === null ? {} : { range: header }),
    });
    if (statusCode === 200) return { body, size: Number(headers["content-length"]), part: null };
    const [, start, end, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(String(headers["content-range"])) ?? [];
    if (statusCode === 206 && size !== undefined) {
      return { body, size: Number(size), part: { start: Number(start), end: Number(end) } };
    }
    await body.dump();
    return statusCode === 404 ? null : this.get(key, null); // a range that does not fit returns the whole blob
  }

  async size(key: string): Promise<number | null> {
    const { statusCode, headers } = await this.#call({ method: "HEAD", key: this.#keyOf(key), accept: [200, 404] });
    if (statusCode !== 404) return Number(headers["content-length"]);
    const found = await this.get(key, null); // a response without a body does not say whether the bucket exists
    found?.body.destroy();
    return found?.size ?? null;
  }

  async delete(key: string): Promise<void> {
    const { body } = await this.#call({ method: "DELETE", key: this.#keyOf(key), accept: [200, 204, 404] });
    await body.dump();
  }

  /** Uses version 1 listing, by last key: every compatible server supports it, and it needs no server state. */
  async *list(prefix: string): AsyncGenerator<BlobEntry> {
    let marker: string | null = "";
    while (marker !== null) {
      const query = { prefix: this.#prefix + prefix, marker };
      const { body } = await this.#call({ method: "GET", key: "", query, accept: [200] });
      const page = readPage(await body.text(), this.#prefix.length);
      yield* page.entries;
      marker = page.next;
    }
  }

  get markLocation(): string {
    return `the object ${this.#prefix}${MARK_NAME} of the bucket`;
  }

  async readMark(): Promise<string | null> {
    const call = { method: "GET", key: this.#prefix + MARK_NAME, accept: [200, 404] } as const;
    const { statusCode, body } = await this.#call(call);
    return statusCode === 404 ? null : (await body.text()).trim() || null;
  }

  async writeMark(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    await this.#put(this.#prefix + MARK_NAME, () => [bytes], bytes.byteLength);
  }

  /** A bucket shows an object completely or not at all. */
  async discardPartial(): Promise<void> {}

  async #put(key: string, open: OpenBody, bytes: number): Promise<void> {
    const { body } = await this.#call({ method: "PUT", key, body: { open, bytes }, accept: [200] });
    await body.text();
  }

  /** Requests the last bytes by position: not every server handles `bytes=-n` correctly. */
  async #rangeHeader(key: string, range: ByteRange): Promise<string | null> {
    if (range.kind === "from") return `bytes=${range.start}-${range.end ?? ""}`;
    const part = resolveRange(range, (await this.size(key)) ?? 0);
    return part === null ? null : `bytes=${part.start}-${part.end}`;
  }

  #keyOf(key: string): string {
    checkBlobKey(key);
    return this.#prefix + key;
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

/** The text of the first element with that name. */
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
