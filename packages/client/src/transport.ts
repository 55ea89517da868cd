import { ERRORS, type Envelope, type ErrorEnvelope } from "@promptd/contract";
import { PromptdConnectionError, PromptdProtocolError, refuse } from "./errors.ts";

/** One HTTP request as it is sent; nothing is retried and no status is an exception. */
export interface RawRequest {
  readonly method: string;
  /** From `/v1` on, already percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  /** Added to, and replacing, the client's own headers; null removes one. */
  readonly headers?: Readonly<Record<string, string | null>> | undefined;
  /** Strings and bytes are sent as they are, everything else as JSON; undefined: no body. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Maximum time until the whole response is read. */
  readonly timeoutMs?: number | undefined;
}

export interface RawAnswer {
  readonly httpStatus: number;
  readonly headers: Headers;
  readonly text: string;
  /** Null if the body is not the standard envelope (HEAD, 204, 304, a proxy's page). */
  readonly envelope: Envelope<unknown> | null;
}

export interface TransportOptions {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
}

export type Send = (request: RawRequest) => Promise<RawAnswer>;

/** Converts a connection error to the error to throw. */
export type Failed = (error: unknown) => Error;

/** Sends a request and reads the response with `read`, unless `timeout` aborts first. */
export type Exchange = <Answer>(
  request: RawRequest,
  timeout: AbortSignal,
  read: (response: Response, failed: Failed) => Promise<Answer>,
) => Promise<Answer>;

export interface Transport {
  readonly send: Send;
  readonly exchange: Exchange;
}

const BODY_START_LENGTH = 200;

/**
 * @param headersOf returns the headers of every request; called for each request.
 * @throws TypeError if the address is not an http or https URL.
 */
export function createTransport(options: TransportOptions, headersOf: () => Record<string, string>): Transport {
  const base = readBaseUrl(options.baseUrl);
  const fetchRaw = (request: RawRequest, timeout: AbortSignal): Promise<Response> => {
    const { method, path, query = {}, body, signal } = request;
    const headers = new Headers({ ...headersOf(), ...(body !== undefined && JSON_TYPE) });
    for (const [name, value] of Object.entries(request.headers ?? {})) {
      if (value === null) headers.delete(name);
      else headers.set(name, value);
    }
    signal?.throwIfAborted();
    return options.fetch(base + path + formatQuery(query), {
      method,
      headers,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      // A redirect could carry the key to another host or turn a POST into a GET; the server never sends one.
      redirect: "manual",
      ...(body !== undefined && { body: formatBody(body) }),
    });
  };
  const exchange: Exchange = async (request, timeout, read) => {
    const failed: Failed = (error) => {
      request.signal?.throwIfAborted();
      return connectionError(error, timeout.aborted, base);
    };
    try {
      return await read(await fetchRaw(request, timeout), failed);
    } catch (error) {
      throw failed(error);
    }
  };
  const send: Send = (request) =>
    exchange(request, AbortSignal.timeout(request.timeoutMs ?? options.timeoutMs), readAnswer);
  return { exchange, send };
}

export async function readAnswer(response: Response): Promise<RawAnswer> {
  const text = await response.text();
  return { httpStatus: response.status, headers: response.headers, text, envelope: readEnvelope(text) };
}

const JSON_TYPE = { "content-type": "application/json" };

export function protocolError(message: string, { httpStatus, text }: RawAnswer): PromptdProtocolError {
  return new PromptdProtocolError(message, { httpStatus, bodyStart: text.slice(0, BODY_START_LENGTH) });
}

function readBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^\s*https?:/i.test(text)) refuse("The base URL", "an http:// or https:// URL", text);
  const { origin, pathname } = new URL(text);
  // "The base is {base_url}/v1" invites people to add the /v1 themselves.
  return origin + pathname.replace(/(\/v1)?\/*$/, "");
}

function formatQuery(query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = String(new URLSearchParams(given as [string, string][])); // converts numbers to strings
  return text && `?${text}`;
}

function formatBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array
    ? (body as string | Uint8Array<ArrayBuffer>)
    : JSON.stringify(body);
}

function readEnvelope(text: string): Envelope<unknown> | null {
  try {
    const value = JSON.parse(text) as Envelope<unknown>;
    const isError = Object.hasOwn(ERRORS, value.status) && typeof (value as ErrorEnvelope).message === "string";
    return value.data !== undefined && (value.status === "SUCCESS" || isError) ? value : null;
  } catch {
    return null; // not a promptd response; the caller decides what that means
  }
}

function connectionError(cause: unknown, timedOut: boolean, base: string): PromptdConnectionError {
  const message = timedOut ? `${base} did not respond in time.` : `No connection to ${base}: ${deepestMessage(cause)}`;
  return new PromptdConnectionError(message, { timedOut, cause });
}

/** Runtimes say only "fetch failed" and put the reason in the cause. OpenSSL's messages are for its developers. */
function deepestMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, message, code, name, reason } = error as Error & { readonly code?: string; readonly reason?: unknown };
  if (cause instanceof Error) return deepestMessage(cause);
  return typeof reason === "string" ? reason : message || code || name;
}
