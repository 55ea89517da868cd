import type { IncomingMessage } from "node:http";
import { Problem } from "../platform/problem.ts";
import { unreadable } from "./json-body.ts";

/** Nobody is left to answer: the caller closed the connection while sending. Not an error of the server. */
export class CallerGone extends Error {
  override readonly name = "CallerGone";
}

export function hasBody(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== "0");
}

/**
 * Reads the body whole, or to the end without keeping it (`keep` false).
 * @throws Problem BAD_REQUEST_ERROR as soon as more than `bytesMax` have arrived; the rest stays unread.
 */
export function readBody(request: IncomingMessage, bytesMax: number, keep: boolean): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The listeners stay, since taking them off costs more, and live as long as the request, which may wait for two minutes:
  // once settled they hold nothing and throw away what still comes.
  let settle: Settle | null = { resolve, reject };
  const end = () => {
    const ended = settle;
    settle = null;
    return ended;
  };
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (settle === null) return;
    if (bytes <= bytesMax) {
      if (keep) chunks.push(chunk);
      return;
    }
    chunks.length = 0;
    end()?.reject(tooLarge(bytesMax));
  });
  request.on("end", () => {
    end()?.resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    chunks.length = 0;
  });
  const onGone = () => end()?.reject(new CallerGone("The caller closed the connection while sending the body."));
  request.on("close", onGone).on("error", onGone);
  return promise;
}

interface Settle {
  readonly resolve: (body: Buffer) => void;
  readonly reject: (problem: Error) => void;
}

/** What the length alone says, before a caller that asks is told to go on sending. @throws Problem BAD_REQUEST_ERROR. */
export function refuseTooLarge(request: IncomingMessage, bytesMax: number): void {
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

function tooLarge(bytesMax: number): Problem {
  const isWholeMiB = bytesMax % (1024 * 1024) === 0;
  const size = isWholeMiB ? `${bytesMax / 1024 / 1024} MiB` : `${Math.floor(bytesMax / 1024)} KiB`;
  return new Problem(
    "BAD_REQUEST_ERROR",
    `The request body is larger than ${size} (${bytesMax.toLocaleString("en-US")} bytes).`,
    { data: { reason: "BODY_TOO_LARGE", maxBytes: bytesMax } },
  );
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** What the headers alone say against the body: a form upload, a compressed body, another character set. */
export function refuseBodyForm(request: IncomingMessage): void {
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = request.headers;
  if (/^\s*multipart\//i.test(type)) throw unreadable(type);
  if (encoding.trim().toLowerCase() !== "identity") {
    throw new Problem("BAD_REQUEST_ERROR", "The request body must not be compressed: leave out Content-Encoding.");
  }
  const charset = CHARSET.exec(type)?.[1]?.toLowerCase() ?? "utf-8";
  if (charset !== "utf-8" && charset !== "utf8") {
    throw new Problem("BAD_REQUEST_ERROR", "The request body must be UTF-8: change the charset in Content-Type.");
  }
}
