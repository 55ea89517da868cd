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
 * @throws Problem BAD_REQUEST_ERROR as soon as it is known to be larger than `bytesMax`; the rest stays unread.
 */
export function readBody(request: IncomingMessage, bytesMax: number, keep: boolean): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isSettled = false;
    // The listeners stay, since taking them off costs more: once settled they throw away what still comes.
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (isSettled) return;
      if (bytes <= bytesMax) {
        if (keep) chunks.push(chunk);
        return;
      }
      isSettled = true;
      chunks.length = 0;
      reject(tooLarge(bytesMax));
    });
    request.on("end", () => {
      isSettled = true;
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
      chunks.length = 0; // the listeners live as long as the request, which may wait for two minutes
    });
    const onGone = () => {
      if (!isSettled) reject(new CallerGone("The caller closed the connection while sending the body."));
      isSettled = true;
    };
    request.on("close", onGone).on("error", onGone);
  });
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
