import type { StreamAnswer, FileRequest, OpenFile } from "../../http/endpoint.ts";
import { namesEntityTag } from "../../http/response/entity-tag.ts";
import { isoTime } from "../../platform/clock.ts";
import { Problem } from "../../platform/problem.ts";
import type { BlobStore, ByteRange } from "../blobs/blob-store.ts";
import type { FilesContext } from "../files-context.ts";
import { verifyAddress, type SignedFile } from "./signed-urls.ts";

/**
 * Serves `/files/<fileId>.<ending>?e=&k=&s=` without the database: a signature exists only for a file whose bytes are
 * durable, and its owner learns the address only after the run's last transaction.
 */
export function createOpenFile(context: FilesContext): OpenFile {
  return async (request) => {
    const nowMs = context.clock.nowMs();
    const address = verifyAddress(request.name, request.query, context.keys, nowMs);
    if (address === null) throw unknownFile();
    if (address.kind === "expired") throw expiredFile(address.file.expiresAt, context.ttlSeconds);
    const secondsLeft = Math.max(0, Math.floor(address.file.expiresAt - nowMs / 1_000));
    return answer(request, address.file, secondsLeft, context.blobs);
  };
}

async function answer(
  request: FileRequest,
  file: SignedFile,
  secondsLeft: number,
  blobs: BlobStore,
): Promise<StreamAnswer> {
  const tag = `"${file.fileId}"`;
  const headers = { ...fixedHeaders(request.name, file, secondsLeft), ETag: tag };
  if (namesEntityTag(request.ifNoneMatch, tag)) return { status: 304, headers, body: null };
  if (request.method === "HEAD") {
    const size = await blobs.size(file.fileId);
    if (size === null) throw unknownFile();
    return { status: 200, headers: { ...headers, "Content-Length": String(size) }, body: null };
  }
  const wantsPart = request.ifRange === null || request.ifRange.trim() === tag;
  const blob = await blobs.get(file.fileId, wantsPart ? parseRange(request.range) : null);
  if (blob === null) throw unknownFile();
  if (blob.part === null) {
    return { status: 200, headers: { ...headers, "Content-Length": String(blob.size) }, body: blob.body };
  }
  const { start, end } = blob.part;
  const partHeaders = {
    "Content-Length": String(end - start + 1),
    "Content-Range": `bytes ${start}-${end}/${blob.size}`,
  };
  return { status: 206, headers: { ...headers, ...partHeaders }, body: blob.body };
}

/** Files are generated content on our origin: they must not run as pages, be sniffed, or reveal where they were linked from. */
function fixedHeaders(name: string, file: SignedFile, secondsLeft: number): Record<string, string> {
  return {
    "Content-Type": file.mediaType,
    "Content-Disposition": `inline; filename="${name}"`,
    "Accept-Ranges": "bytes",
    "Cache-Control": `public, max-age=${secondsLeft}, immutable`,
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
    "Referrer-Policy": "no-referrer",
  };
}

const RANGE = /^bytes=(?:([0-9]{1,15})-([0-9]{1,15})?|-([0-9]{1,15}))$/;

/**
 * Parses a single byte range. Anything else (several ranges, other units, nonsense) is null and returns the whole file:
 * ignoring Range is always allowed (RFC 9110, section 14.2), and 416 is not in the closed set of responses.
 */
function parseRange(header: string | null): ByteRange | null {
  const [whole, start, end, last] = RANGE.exec((header ?? "").trim()) ?? [];
  if (whole === undefined) return null;
  if (last !== undefined) return { kind: "last", count: Number(last) };
  return { kind: "from", start: Number(start), end: end === undefined ? null : Number(end) };
}

/** One message for a wrong signature, a wrong extension, and an unknown file, so that it does not reveal which ids exist. */
function unknownFile(): Problem {
  const next = "Use the exact address from the run's output, or the one that the prompt shows now.";
  return new Problem("NOT_FOUND_ERROR", `There is no file at this address. ${next}`);
}

/** An address does not say whether it is for a run or for a sample, which is valid until the end of the next day. */
function expiredFile(expiresAt: number, ttlSeconds: number): Problem {
  const [day, time] = isoTime(expiresAt * 1_000).split("T") as [string, string];
  const lives = `A run's files are available for ${inWords(ttlSeconds)}. A prompt's sample gets a new address every day.`;
  const message = `This file expired on ${day} at ${time.slice(0, 5)} UTC. ${lives}`;
  return new Problem("GONE_ERROR", message, { data: { reason: "FILE_EXPIRED" } });
}

function inWords(seconds: number): string {
  const [count, unit] =
    seconds % 3_600 === 0
      ? [seconds / 3_600, "hour"]
      : seconds % 60 === 0
        ? [seconds / 60, "minute"]
        : [seconds, "second"];
  return `${count.toLocaleString("en-US")} ${unit}${count === 1 ? "" : "s"}`;
}
