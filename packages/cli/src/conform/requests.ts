/** Plain HTTP for the checks: retries only a 429, throws for no status, and records every response. */
import { setTimeout as wait } from "node:timers/promises";
import { NoAnswer, type ReceivedResponse, type Exchange, type SentRequest } from "./check.ts";

export interface RequestOptions {
  readonly method?: string;
  /** Null: no Authorization header. The kit's key when absent. */
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as is, everything else as JSON. */
  readonly body?: unknown;
}

export interface Requests {
  send(path: string, options?: RequestOptions): Promise<Exchange>;
  /** Sends all given requests at once, without a pause. */
  burst(path: string, count: number): Promise<Exchange[]>;
  /** All responses so far. */
  readonly seen: readonly Exchange[];
}

export interface RequestsOptions {
  /** Without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
  /** Requests per second that the server admits. */
  readonly rate: number;
}

/** One second, plus the inaccuracy of timers. */
const WINDOW_MS = 1_100;
const ATTEMPTS_MAX = 5;
/** Longer than the server's own wait for a run. */
const ANSWER_MS_MAX = 150_000;

export function createRequests(options: RequestsOptions): Requests {
  const seen: Exchange[] = [];
  const pace = createPace(options.rate);
  const once = async (path: string, given: RequestOptions): Promise<Exchange> => {
    const exchange = await sendOnce(path, given, options);
    seen.push(exchange);
    return exchange;
  };
  const send = async (path: string, given: RequestOptions = {}): Promise<Exchange> => {
    for (let attempt = 1; ; attempt += 1) {
      await pace(options.signal);
      const exchange = await once(path, given);
      if (exchange.response.httpStatus !== 429 || attempt === ATTEMPTS_MAX) return exchange;
      await wait(retryAfterMs(exchange.response.headers), undefined, { signal: options.signal });
    }
  };
  return {
    send,
    burst: (path, count) => Promise.all(Array.from({ length: count }, () => once(path, {}))),
    seen,
  };
}

function retryAfterMs(headers: Headers): number {
  const seconds = Number(headers.get("retry-after"));
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 30) * 1_000 : 1_000;
}

/** Starts fewer than `rate` requests per second. */
function createPace(rate: number) {
  let begun: number[] = [];
  return async (signal: AbortSignal): Promise<void> => {
    begun = begun.filter((at) => at > performance.now() - WINDOW_MS);
    const first = begun[0];
    if (first !== undefined && begun.length >= rate) {
      await wait(first + WINDOW_MS - performance.now(), undefined, { signal });
    }
    begun.push(performance.now());
  };
}

async function sendOnce(path: string, given: RequestOptions, options: RequestsOptions): Promise<Exchange> {
  const { method = given.body === undefined ? "GET" : "POST", authorization = `Bearer ${options.apiKey}` } = given;
  const body = given.body === undefined ? null : textOf(given.body);
  const headers = {
    ...(authorization === null ? {} : { authorization }),
    ...(body === null ? {} : { "content-type": "application/json" }),
    ...given.headers,
  };
  const request: SentRequest = { method, path, headers: withoutKey(headers), body };
  try {
    const response = await options.fetch(options.baseUrl + path, {
      method,
      headers,
      redirect: "manual",
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
      ...(body === null ? {} : { body }),
    });
    const text = await response.text();
    return { request, response: { httpStatus: response.status, headers: response.headers, text, json: parse(text) } };
  } catch (error) {
    options.signal.throwIfAborted();
    throw new NoAnswer(`${method} ${path}`, reasonOf(error));
  }
}

function textOf(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** Keys are removed, because reports are shown to others. */
function withoutKey({ authorization, ...headers }: Record<string, string>): Record<string, string> {
  return authorization === undefined ? headers : { authorization: "Bearer …", ...headers };
}

function parse(text: string): ReceivedResponse["json"] {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
