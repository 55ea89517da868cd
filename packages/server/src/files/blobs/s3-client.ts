/**
 * Calls an S3-compatible service. aws4fetch signs requests. undici sends them: it streams bodies of known length, times
 * out without progress in either direction, and follows no redirects.
 */
import { Readable } from "node:stream";
import { AwsV4Signer } from "aws4fetch";
import type { Agent, Dispatcher } from "undici";
import { isoTime, type Clock } from "../../platform/clock.ts";
import { loadOnce } from "../../platform/resilience/load-once.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { OpenBody } from "./blob-store.ts";

export interface S3Options {
  /** Address of the service, such as https://s3.eu-central-1.amazonaws.com or http://minio:9000. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly bucket: string;
  /** Prefix of every key, such as `promptd/`; "" for none. Letters, digits, `/`, `_`, `.`, and `-`. */
  readonly prefix: string;
  /** For tests: how long the service may be silent. */
  readonly idleMs?: number;
}

interface S3Call {
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  /** Key with its prefix; "" for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly range?: string;
  readonly body?: { readonly open: OpenBody; readonly bytes: number };
  /** Statuses that are not failures. */
  readonly accept: readonly number[];
}

type S3Answer = Dispatcher.ResponseData;
/** @throws S3Failure; BodyFault if the content itself fails. */
export type CallS3 = (call: S3Call) => Promise<S3Answer>;

const ATTEMPTS_MAX = 3;
const BACKOFF = { baseMs: 200, capMs: 2_000 };
/** The longest time without a byte in either direction. */
const IDLE_MS = 60_000;

/** The bucket rejected a request or could not be reached. The message has the service's code, never a key or an address. */
class S3Failure extends Error {
  override readonly name = "S3Failure";
  readonly isTransient: boolean;
  constructor(message: string, isTransient: boolean, cause?: unknown) {
    super(message, { cause });
    this.isTransient = isTransient;
  }
}

/** The content itself failed, so a retry would not help. */
class BodyFault extends Error {
  override readonly name = "BodyFault";
}

/**
 * Makes up to three attempts while the bucket cannot be reached or returns 429 or 5xx. A generated image was paid for, and
 * giving up on a momentary failure would mean calling the provider again.
 */
export function createS3Client(options: S3Options, clock: Clock): CallS3 {
  const idleMs = options.idleMs ?? IDLE_MS;
  const openAgent = loadOnce(() => createAgent(idleMs));
  const on = (error: unknown) => error instanceof S3Failure && error.isTransient;
  return (call) =>
    retry(async () => checkAnswer(await send(call, await openAgent(), options, clock), call), {
      on,
      backoff: BACKOFF,
      attempts: ATTEMPTS_MAX,
    });
}

/** Loaded at the first call: most servers store their files on disk. */
async function createAgent(idleMs: number): Promise<Agent> {
  const { Agent: HttpAgent } = await import("undici");
  return new HttpAgent({ connect: { timeout: idleMs }, headersTimeout: idleMs, bodyTimeout: idleMs });
}

async function send(call: S3Call, agent: Agent, options: S3Options, clock: Clock): Promise<S3Answer> {
  const { method, body } = call;
  const url = new URL(`/${options.bucket}${call.key === "" ? "" : `/${call.key}`}`, options.endpoint);
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
  const signed = await new AwsV4Signer({
    ...options,
    method,
    url: url.href,
    // Signs the length and leaves the content to TLS, so the body need not be read twice.
    headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", ...(call.range === undefined ? {} : { range: call.range }) },
    service: "s3",
    datetime: isoTime(clock.nowMs()).replace(/[-:]|\.\d+/g, ""),
  }).sign();
  const length = method === "PUT" ? { "content-length": String(body?.bytes ?? 0) } : {};
  try {
    const answer = await agent.request({
      origin: url.origin,
      path: signed.url.pathname + signed.url.search,
      method,
      headers: { ...Object.fromEntries(signed.headers), ...length },
      body: body === undefined ? null : Readable.from(countBytes(body)),
    });
    answer.body.on("error", () => {}); // a body that nobody reads to the end must not end the process
    return answer;
  } catch (cause) {
    if (cause instanceof BodyFault) throw cause;
    throw new S3Failure("The bucket could not be reached.", true, cause);
  }
}

async function checkAnswer(answer: S3Answer, { method, accept }: S3Call): Promise<S3Answer> {
  const { statusCode: status, body } = answer;
  if (accept.includes(status) && (status !== 404 || method === "HEAD")) return answer;
  const text = await body.text().catch(() => "");
  const code = /<Code>(\w{1,64})<\/Code>/.exec(text.slice(0, 4_096))?.[1] ?? "";
  // A deleted bucket also returns 404: treating that as a missing file would give callers a wrong response.
  if (accept.includes(status) && code !== "NoSuchBucket") return answer;
  throw new S3Failure(`The bucket answered ${status} ${code}`.trimEnd(), status === 429 || status >= 500);
}

/** Throws if the content does not have the announced length: the bucket then stores nothing. */
async function* countBytes(body: { readonly open: OpenBody; readonly bytes: number }): AsyncGenerator<Uint8Array> {
  let sent = 0;
  try {
    for await (const chunk of body.open()) {
      sent += chunk.byteLength;
      if (sent > body.bytes) break;
      yield chunk;
    }
  } catch (cause) {
    throw new BodyFault("The content of a blob could not be read.", { cause });
  }
  if (sent !== body.bytes) throw new BodyFault(`Expected a blob of ${body.bytes} bytes, got ${sent}.`);
}
