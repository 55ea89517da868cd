import type { IncomingMessage } from "node:http";
import { Problem } from "../../platform/problem.ts";
import { unreadable } from "./json-body.ts";

/** The caller closed the connection while sending, so nobody is left to answer. Not a server error. */
export class CallerGone extends Error {
  override readonly name = "CallerGone";
}

export function hasBody(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== "0");
}

/** Reserves memory for `bytes` in total. @throws Problem when there is none. */
export type Reserve = (bytes: number) => void;

/**
 * Reads the whole body, or, when `reserve` is null, reads to its end without storing it.
 * @throws Problem BAD_REQUEST_ERROR as soon as more than `bytesMax` have arrived, or what `reserve` throws; the rest is
 * discarded.
 */
export function receiveBody(request: IncomingMessage, bytesMax: number, reserve: Reserve | null): Promise<Buffer> {
  // The caller left before the body was read: no more events come, so a promise waiting for one would never be freed.
  if (request.destroyed) return Promise.reject(callerGone());
  const received = Promise.withResolvers<Buffer>();
  let bytes = 0;
  let stored = reserve === null ? null : new BodyBuffer(declaredBytes(request), reserve);
  // The listeners stay, because removing them costs more. They live as long as the request, which may wait for two
  // minutes, so once settled they refer to nothing and discard what still arrives.
  let settle: typeof received | null = received;
  const end = () => {
    const ended = settle;
    settle = null;
    stored = null;
    return ended;
  };
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (settle === null) return;
    if (bytes > bytesMax) {
      end()?.reject(tooLarge(bytesMax));
      return;
    }
    try {
      stored?.add(chunk);
    } catch (noRoom) {
      end()?.reject(noRoom);
    }
  });
  request.on("end", () => {
    const whole = stored?.whole() ?? NOTHING;
    end()?.resolve(whole);
  });
  const onGone = () => end()?.reject(callerGone());
  request.on("close", onGone).on("error", onGone);
  return received.promise;
}

export function callerGone(): CallerGone {
  return new CallerGone("The caller closed the connection while sending the body.");
}

const NOTHING = Buffer.alloc(0);
/** Initial buffer size for a body without a declared length; it doubles as the body grows. */
const FIRST_BYTES = 16 * 1024;

/**
 * Holds a body in one piece from the start. The declared length is allocated once, and the system provides memory only
 * for what is written. A list of chunks would cost many times their bytes if they were tiny, and twice at the end.
 */
class BodyBuffer {
  readonly #declared: number | null;
  readonly #reserve: Reserve;
  #room: Buffer = NOTHING;
  #length = 0;

  constructor(declared: number | null, reserve: Reserve) {
    this.#declared = declared;
    this.#reserve = reserve;
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0 && chunk.length === this.#declared) this.#room = chunk;
    else {
      if (length > this.#room.length) this.#grow(length);
      chunk.copy(this.#room, this.#length);
    }
    this.#length = length;
  }

  whole(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const bytes = this.#declared ?? Math.max(needed, 2 * this.#room.length, FIRST_BYTES);
    this.#reserve(bytes);
    const larger = Buffer.allocUnsafeSlow(bytes);
    this.#room.copy(larger, 0, 0, this.#length);
    this.#room = larger;
  }
}

/** Null: sent in chunks, so the length is not known yet. */
export function declaredBytes({ headers }: IncomingMessage): number | null {
  const length = headers["content-length"];
  return length === undefined ? null : Number(length);
}

/**
 * Checks the declared length, before a caller that waits for `100 Continue` sends.
 * @throws Problem BAD_REQUEST_ERROR.
 */
export function refuseTooLarge(request: IncomingMessage, bytesMax: number): void {
  if ((declaredBytes(request) ?? 0) > bytesMax) throw tooLarge(bytesMax);
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

/** Refuses what the headers alone rule out: a form upload, a compressed body, another character set. */
export function refuseBodyForm(request: IncomingMessage): void {
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = request.headers;
  if (/^\s*multipart\//i.test(type)) throw unreadable(type);
  if (encoding.trim().toLowerCase() !== "identity") {
    throw new Problem(
      "BAD_REQUEST_ERROR",
      "The request body must not be compressed. Send it without Content-Encoding.",
    );
  }
  const charset = CHARSET.exec(type)?.[1]?.toLowerCase() ?? "utf-8";
  if (charset !== "utf-8" && charset !== "utf8") {
    throw new Problem("BAD_REQUEST_ERROR", "The request body must be UTF-8. Change the charset in Content-Type.");
  }
}
