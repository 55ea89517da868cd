import { ERRORS, type Envelope } from "@promptd/contract";
import { PromptdConnectionError, PromptdProtocolError } from "./errors.ts";

/** One HTTP request as it is sent; nothing is retried and no status is an exception. */
export interface RawRequest {
  readonly method: string;
  /** From `/v1` on, already percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Added to, and replacing, the client's own headers; null removes one. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** A string or bytes go out as they are, everything else as JSON; undefined: no body. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Longest time until the whole answer is read. */
  readonly timeoutMs?: number | undefined;
}

export interface RawAnswer {
  readonly httpStatus: number;
  readonly headers: Headers;
  readonly text: string;
  /** Null when the body is not the standard envelope (HEAD, 204, 304, a proxy's page). */
  readonly envelope: Envelope<unknown> | null;
}

export interface TransportOptions {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
}

export type Send = (request: RawRequest) => Promise<RawAnswer>;

/** The text of an answer as it arrives, for one that is a stream; else the whole answer. */
export type Open = (request: RawRequest) => Promise<AsyncIterable<string> | RawAnswer>;

export interface Transport {
  readonly send: Send;
  readonly open: Open;
}

const BODY_START_LENGTH = 200;

/**
 * @param headersOf the headers every request carries, asked for each time.
 * @throws TypeError when the address is not one of http or https.
 */
export function createTransport(options: TransportOptions, headersOf: () => Record<string, string>): Transport {
  const base = readBaseUrl(options.baseUrl);
  const fetchRaw = (request: RawRequest, signal: AbortSignal): Promise<Response> => {
    const url = base + request.path + formatQuery(request.query ?? {});
    const headers = new Headers({ ...headersOf(), ...(request.body === undefined ? {} : JSON_TYPE) });
    for (const [name, value] of Object.entries(request.headers ?? {})) {
      if (value === null) headers.delete(name);
      else headers.set(name, value);
    }
    const body = request.body === undefined ? {} : { body: formatBody(request.body) };
    request.signal?.throwIfAborted();
    // A redirect could carry the key to another host or turn a POST into a GET; the server never sends one.
    return options.fetch(url, { method: request.method, headers, signal, redirect: "manual", ...body });
  };
  const send: Send = async (request) => {
    const timeout = AbortSignal.timeout(request.timeoutMs ?? options.timeoutMs);
    try {
      return await readAnswer(await fetchRaw(request, anyOf(request.signal, timeout)));
    } catch (error) {
      request.signal?.throwIfAborted();
      throw connectionError(error, timeout.aborted, base);
    }
  };
  const open: Open = async (request) => {
    const silence = createSilence(request.timeoutMs ?? options.timeoutMs);
    const failed = (error: unknown): PromptdConnectionError => {
      silence.end();
      request.signal?.throwIfAborted();
      return connectionError(error, silence.signal.aborted, base);
    };
    try {
      const response = await fetchRaw(request, anyOf(request.signal, silence.signal));
      if (response.body !== null && isStream(response)) return readPieces(response.body, { silence, failed });
      const answer = await readAnswer(response);
      silence.end();
      return answer;
    } catch (error) {
      throw failed(error);
    }
  };
  return { send, open };
}

function anyOf(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined ? other : AbortSignal.any([one, other]);
}

async function readAnswer(response: Response): Promise<RawAnswer> {
  const text = await response.text();
  return { httpStatus: response.status, headers: response.headers, text, envelope: readEnvelope(text) };
}

/** Events, and results of a batch as lines. */
function isStream({ status, headers }: Response): boolean {
  const types = /^(text\/event-stream|application\/x-ndjson|text\/csv)\b/i;
  return status === 200 && types.test(headers.get("content-type") ?? "");
}

/** Aborts when nothing is heard for so long: a stream has no end that a timeout could wait for. */
function createSilence(timeoutMs: number) {
  const controller = new AbortController();
  const start = () => setTimeout(() => controller.abort(new Error("nothing was heard for too long")), timeoutMs);
  let timer = start();
  const end = () => clearTimeout(timer);
  return {
    signal: controller.signal,
    end,
    heard: () => {
      end();
      timer = start();
    },
  };
}

interface Reading {
  readonly silence: ReturnType<typeof createSilence>;
  readonly failed: (error: unknown) => Error;
}

async function* readPieces(body: ReadableStream<Uint8Array>, { silence, failed }: Reading): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      silence.heard();
      yield piece.value;
    }
  } catch (error) {
    throw failed(error);
  } finally {
    silence.end();
    await reader.cancel().catch(() => {}); // it has failed already, or the caller wants no more
  }
}

const JSON_TYPE = { "content-type": "application/json" };

/** @throws PromptdProtocolError unless the answer is an envelope that fits its HTTP status. */
export function expectEnvelope(answer: RawAnswer): Envelope<unknown> {
  const { envelope, httpStatus } = answer;
  const isSuccess = httpStatus >= 200 && httpStatus < 300;
  if (envelope !== null && (envelope.status === "SUCCESS") === isSuccess) return envelope;
  const type = answer.headers.get("content-type") ?? "no content type";
  throw new PromptdProtocolError(
    `The answer is not one of a promptd server (HTTP ${httpStatus}, ${type}). Check the base URL and any proxy before it.`,
    { httpStatus, bodyStart: answer.text.slice(0, BODY_START_LENGTH) },
  );
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new TypeError(`The base URL must be an http or https address, got "${text}".`);
  }
  // "The base is {base_url}/v1" invites people to write the /v1 themselves.
  return url.origin + url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function formatQuery(query: Readonly<Record<string, string | number | undefined>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, String(value));
  }
  return params.size === 0 ? "" : `?${params.toString()}`;
}

function formatBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return body;
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
}

function readEnvelope(text: string): Envelope<unknown> | null {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null) return null;
  const { status, message } = value as Record<string, unknown>;
  if (!("data" in value)) return null;
  const isError = typeof status === "string" && Object.hasOwn(ERRORS, status) && typeof message === "string";
  return status === "SUCCESS" || isError ? (value as Envelope<unknown>) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // not an answer of promptd; the caller decides what that means
  }
}

function connectionError(cause: unknown, timedOut: boolean, base: string): PromptdConnectionError {
  if (timedOut) return new PromptdConnectionError(`${base} did not answer in time.`, { timedOut, cause });
  const reason = deepestMessage(cause);
  return new PromptdConnectionError(`No connection to ${base}: ${reason}`, { timedOut, cause });
}

/** Runtimes say only "fetch failed" and put the reason in the cause. */
function deepestMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return deepestMessage(cause);
  const code = (error as { code?: unknown }).code;
  if (error.message !== "") return error.message;
  return typeof code === "string" ? code : error.name;
}
