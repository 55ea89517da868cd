import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import { fullJitterDelayMs } from "../../platform/resilience/retry.ts";
import { isoTime, type Clock } from "../../platform/clock.ts";
import type { OpenBody } from "./blob-store.ts";
import { authorizeS3, encodeQuery, UNSIGNED_PAYLOAD, type S3Credentials } from "./s3-signature.ts";

export interface S3Options extends S3Credentials {
  /** Address of the service, such as https://s3.eu-central-1.amazonaws.com or http://minio:9000. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Put before every key, such as `promptd/`; "" for none. Letters, digits, `/`, `_`, `.` and `-`. */
  readonly prefix: string;
  /** In tests: how long the service may be silent. */
  readonly idleMs?: number;
}

export interface S3Call {
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  /** Key with its prefix; "" for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly range?: string;
  readonly body?: { readonly open: OpenBody; readonly bytes: number };
  /** Answers that are no failure. */
  readonly accept: readonly number[];
}

const ATTEMPTS_MAX = 3;
const BACKOFF = { baseMs: 200, capMs: 2_000 };
/** Without a byte in either direction. */
const IDLE_MS = 60_000;

/** A bucket that refused or could not be reached. Its text names the service's code, never a key or an address. */
class S3Failure extends Error {
  override readonly name = "S3Failure";
}

/**
 * Sends one call, up to three times while the bucket cannot be reached or answers 429 or 5xx: a generated image was
 * paid for, and giving it up for a moment's failure would make the provider be called again.
 */
export async function callS3(call: S3Call, options: S3Options, clock: Clock): Promise<IncomingMessage> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await sendOnce(call, options, clock);
    if (!(outcome instanceof S3Failure)) return outcome;
    if (attempt === ATTEMPTS_MAX) throw outcome;
    await wait(fullJitterDelayMs(attempt, BACKOFF));
  }
}

/** @returns a failure that may pass. @throws S3Failure for one that will not. */
async function sendOnce(call: S3Call, options: S3Options, clock: Clock): Promise<IncomingMessage | S3Failure> {
  let answer: IncomingMessage;
  try {
    answer = await send(call, options, clock);
  } catch (cause) {
    if (cause instanceof BodyFault) throw cause;
    return new S3Failure("The bucket could not be reached.", { cause });
  }
  const status = answer.statusCode ?? 0;
  if (call.accept.includes(status) && (status !== 404 || call.method === "HEAD")) return answer;
  const text = call.method === "HEAD" ? "" : (await readText(answer)).slice(0, 4_096);
  const code = /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? "";
  // A bucket that is gone also answers 404: taking that for a missing file would answer callers wrongly.
  if (call.accept.includes(status) && code !== "NoSuchBucket") return answer;
  const failure = new S3Failure(`The bucket answered ${status} ${code}`.trimEnd());
  answer.resume();
  if (status === 429 || status >= 500) return failure;
  throw failure;
}

async function send(call: S3Call, options: S3Options, clock: Clock): Promise<IncomingMessage> {
  const endpoint = new URL(options.endpoint);
  const path = `/${options.bucket}${call.key === "" ? "" : `/${call.key}`}`;
  const query = call.query ?? {};
  const signed = {
    host: endpoint.host,
    "x-amz-content-sha256": UNSIGNED_PAYLOAD,
    "x-amz-date": isoTime(clock.nowMs()).replace(/[-:]|\.\d+/g, ""),
    ...(call.range === undefined ? {} : { range: call.range }),
  };
  const authorization = authorizeS3({ method: call.method, path, query, headers: signed }, options);
  const length = call.method === "PUT" ? { "content-length": String(call.body?.bytes ?? 0) } : {};
  const makeRequest = endpoint.protocol === "https:" ? requestHttps : requestHttp;
  const outgoing = makeRequest(endpoint, {
    method: call.method,
    path: Object.keys(query).length === 0 ? path : `${path}?${encodeQuery(query)}`,
    headers: { ...signed, ...length, authorization },
    timeout: options.idleMs ?? IDLE_MS,
  });
  outgoing.on("timeout", () => outgoing.destroy(new Error("The bucket was silent for too long.")));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
  });
  const sending = call.body === undefined ? outgoing.end() : pipeline(Readable.from(counted(call.body)), outgoing);
  const [answer] = await Promise.all([answered, sending]);
  return answer;
}

/** The content itself failed: sending it again would not help. */
class BodyFault extends Error {
  override readonly name = "BodyFault";
}

/** Breaks off when the content is not as long as was said: the bucket then stores nothing. */
async function* counted(body: { readonly open: OpenBody; readonly bytes: number }): AsyncGenerator<Uint8Array> {
  let sent = 0;
  try {
    for await (const piece of body.open()) {
      sent += piece.byteLength;
      if (sent > body.bytes) break;
      yield piece;
    }
  } catch (cause) {
    throw new BodyFault("The content of a blob could not be read.", { cause });
  }
  if (sent !== body.bytes) throw new BodyFault(`A blob of ${body.bytes} bytes was announced, ${sent} arrived.`);
}

export async function readText(answer: IncomingMessage): Promise<string> {
  return Buffer.concat((await answer.toArray()) as Buffer[]).toString("utf8");
}
