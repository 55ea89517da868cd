/**
 * Sends bytes to and from a provider: one undici Agent per provider, HTTP/2 if offered, no redirects, no decompression,
 * and a size limit for every response. It uses undici below `fetch`, which costs a quarter to half of the CPU per
 * call (measured 2026-11) and never follows, decodes, or retries anything by itself.
 */
import type { Agent, Dispatcher } from "undici";
import { readLimited, ReaderFault, type FetchOutcome, type GuardedFetch, type BodyReader } from "../../files/index.ts";
import { codeOf } from "../../platform/reason-of.ts";
import { loadOnce } from "../../platform/resilience/load-once.ts";
import { AnswerFailure } from "./jobs.ts";
import type { ProviderEndpoint } from "./provider.ts";
import { flatten, receiveAnswer, type AnswerHead } from "./receive-answer.ts";
import { answerWhole } from "../whole-answer.ts";

/** Something failed below the provider's own response. `stage` decides whether the call may be repeated. */
export type TransportStage =
  /** No byte of the request was sent: DNS, the connection, or TLS failed. */
  | "connect"
  /** The connection broke after some or all of the request was sent: it may have been executed and billed. */
  | "sent"
  /** The response is larger than the limit. */
  | "too-large"
  /** A redirect, a compressed response, or bytes that are not HTTP. */
  | "protocol"
  /** A file that the provider linked to could not be fetched. */
  | "result";

export class TransportFailure extends Error {
  override readonly name = "TransportFailure";
  readonly stage: TransportStage;
  constructor(stage: TransportStage, message: string, cause?: unknown) {
    super(message, { cause });
    this.stage = stage;
  }
}

export interface TransportOptions {
  /** The provider's own addresses; everything else is a result address and is fetched without credentials. */
  readonly origins: readonly string[];
  readonly aliases: ProviderEndpoint["aliases"];
  /** Longer than any call deadline, so that the deadline comes first. */
  readonly idleMs: number;
  readonly download: GuardedFetch;
}

export interface FetchLimits {
  readonly answerBytesMax: number;
  /** A request about a started job: transient responses are errors, since the SDK would mistake some for the job's failure. */
  readonly isPoll?: boolean;
}

export interface Transport {
  /** Returns a fetch function for one call. */
  fetchWithin(limits: FetchLimits): typeof globalThis.fetch;
  /**
   * Passes a file that the provider links to, at any address, to `limits.read`. The provider's own address may redirect
   * once. The provider's credentials are sent neither there nor to any other address.
   */
  fetchFile<Result>(url: URL, limits: BodyReader<Result>, signal: AbortSignal): Promise<Result>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;

export function createTransport(options: TransportOptions): Transport {
  const openAgent = loadOnce(() => createAgent(options.idleMs));
  const own = new Set(
    [...options.origins, ...(options.aliases?.origins.keys() ?? [])].map((url) => new URL(url).origin),
  );
  return {
    fetchWithin: (limits) => async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const signal = init?.signal ?? new AbortController().signal;
      signal.throwIfAborted();
      if (!own.has(url.origin)) return download(url, { limits, signal }, options.download);
      return exchange(await openAgent(), aliased(url, options.aliases), { init: init ?? {}, limits, signal });
    },
    fetchFile: async (url, limits, signal) => {
      signal.throwIfAborted();
      const taken = own.has(url.origin)
        ? await takeOwn(await openAgent(), aliased(url, options.aliases), limits, signal)
        : url;
      if (!(taken instanceof URL)) return taken.content;
      return contentOf(await options.download.fetchInto(taken.href, limits, signal));
    },
    close: async () => (await openAgent.current())?.destroy(),
  };
}

/** Loaded at the first call, so that startup does not wait for it. */
async function createAgent(idleMs: number): Promise<Agent> {
  const { Agent: HttpAgent } = await import("undici");
  // No connection limit: undici would silently queue beyond it, and calls are limited elsewhere.
  return new HttpAgent({
    allowH2: true,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
    maxRequestsPerClient: 0,
  });
}

interface Target {
  readonly url: URL;
  /** An address that the response may name and the caller must see as the usual one; null: none. */
  readonly alias: { readonly shown: string; readonly real: string; readonly header: string } | null;
}

function aliased(url: URL, aliases: ProviderEndpoint["aliases"]): Target {
  const real = aliases?.origins.get(url.origin);
  if (aliases === null || real === undefined) return { url, alias: null };
  const alias = { shown: url.origin, real, header: aliases.header };
  return { url: new URL(real + url.pathname + url.search), alias };
}

interface Exchange {
  readonly init: RequestInit;
  readonly limits: FetchLimits;
  readonly signal: AbortSignal;
}

async function exchange(agent: Agent, target: Target, { init, limits, signal }: Exchange): Promise<Response> {
  const request = await requestTo(target, init);
  const answer = receiveAnswer((receiver) => agent.dispatch(request, receiver), {
    isStream: (head) => {
      if (isRedirect(head.status)) throw new TransportFailure("protocol", "the provider answered with a redirect");
      if (head.status === 200 && isEventStream(head.headers)) return true;
      refuseBody(head.headers, limits.answerBytesMax);
      return false;
    },
    checkSize: (bytes) => {
      if (bytes > limits.answerBytesMax) throw tooLarge(limits.answerBytesMax);
    },
    failureOf: (error) => failureOf(error, signal),
    signal,
  });
  const { status, headers, body } = await answer.catch((error: unknown) => {
    throw failureOf(error, signal);
  });
  if (body instanceof ReadableStream) return new Response(body, { status, headers });
  if (limits.isPoll === true && isTransient(status)) throw transientAnswer(status, headers);
  if (hasNoBody(status)) return new Response(null, { status, headers });
  return answerWhole(shownBytes(body, target.alias), { status, headers });
}

/** @returns a URL if the response redirects. */
async function takeOwn<Result>(
  agent: Agent,
  target: Target,
  limits: BodyReader<Result>,
  signal: AbortSignal,
): Promise<{ readonly content: Result } | URL> {
  return requestFile(agent, target, signal, async ({ status, headers, body }) => {
    if (status === 200) return { content: await takeBody({ status, headers, body }, limits) };
    abandon(body);
    const next = isRedirect(status) ? URL.parse(headers["location"] ?? "", target.url.href) : null;
    if (next !== null) return next;
    if (isTransient(status)) throw transientAnswer(status, headers);
    throw new TransportFailure("result", `the file's address returned ${status}`);
  });
}

interface ReceivedFile extends AnswerHead {
  readonly body: Dispatcher.ResponseData["body"];
}

/** Requests a file, whose response `read` turns into a result. Every failure below HTTP is a TransportFailure. */
async function requestFile<Result>(
  agent: Agent,
  target: Target,
  signal: AbortSignal,
  read: (received: ReceivedFile) => Promise<Result>,
): Promise<Result> {
  try {
    const { statusCode, headers, body } = await agent.request({ ...(await requestTo(target, {})), signal });
    return await read({ status: statusCode, headers: flatten(headers), body });
  } catch (error) {
    if (error instanceof ReaderFault && !signal.aborted) throw error.cause;
    throw failureOf(error, signal);
  }
}

async function requestTo({ url, alias }: Target, init: RequestInit) {
  const body = await encodeBody(init);
  const headers: Record<string, string> = {
    ...plainHeaders(init.headers),
    ...body.headers,
    ...(alias === null ? {} : { [alias.header]: new URL(alias.shown).host }),
  };
  const { origin, pathname, search } = url;
  return { origin, path: pathname + search, method: init.method ?? "GET", headers, body: body.bytes };
}

/** What the caller gets: the reason of its own signal, a failure that was found here, or one of the connection. */
function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof TransportFailure || error instanceof AnswerFailure) return error;
  return new TransportFailure(stageOf(error), "the connection to the provider failed", error);
}

/** The packages pass a plain object. Turning it into Headers took a tenth of an exchange (measured 2026-11). */
function plainHeaders(headers: RequestInit["headers"] = {}): Record<string, string> {
  if (headers instanceof Headers || Array.isArray(headers)) return Object.fromEntries(new Headers(headers));
  return headers as Record<string, string>;
}

/** Forms (image edits) are encoded here, since the packages build them with Node's own FormData. */
async function encodeBody(init: RequestInit) {
  const body = init.body ?? null;
  if (body === null || typeof body === "string" || body instanceof Uint8Array) return { bytes: body, headers: {} };
  const encoded = new Response(body);
  const type = encoded.headers.get("content-type");
  const bytes = new Uint8Array(await encoded.arrayBuffer());
  return { bytes, headers: type === null ? {} : { "content-type": type } };
}

/** Event streams are passed on as streams; everything else is read completely before the package sees it. */
function isEventStream(headers: AnswerHead["headers"]): boolean {
  return /^text\/event-stream\b/i.test(headers["content-type"] ?? "") && headers["content-encoding"] === undefined;
}

function tooLarge(bytesMax: number): TransportFailure {
  return new TransportFailure("too-large", `the response is larger than ${bytesMax} bytes`);
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

async function takeBody<Result>({ headers, body }: ReceivedFile, limits: BodyReader<Result>): Promise<Result> {
  try {
    refuseBody(headers, limits.bytesMax);
  } catch (error) {
    abandon(body);
    throw error;
  }
  return readLimited(body, limits, () => tooLarge(limits.bytesMax));
}

/** @throws TransportFailure if a body declares itself too large, or is compressed. */
function refuseBody(headers: AnswerHead["headers"], bytesMax: number): void {
  const encoding = headers["content-encoding"] ?? "identity";
  const isTooLarge = Number(headers["content-length"] ?? 0) > bytesMax;
  if (isTooLarge) throw tooLarge(bytesMax);
  if (encoding !== "identity")
    throw new TransportFailure("protocol", "the provider compressed a response without being asked to");
}

/** Destroys an unwanted response body. The resulting error must not end the process. */
function abandon(body: ReceivedFile["body"]): void {
  body.on("error", () => {}).destroy();
}

/** An aliased provider puts its own address in its responses, but the package only trusts the usual one. */
function shownBytes(bytes: Buffer<ArrayBuffer>, alias: Target["alias"]): Buffer<ArrayBuffer> {
  if (alias === null) return bytes;
  const text = bytes.toString("utf8");
  return text.includes(alias.real) ? Buffer.from(text.replaceAll(alias.real, alias.shown)) : bytes;
}

async function download(
  url: URL,
  { limits, signal }: { limits: FetchLimits; signal: AbortSignal },
  guarded: GuardedFetch,
): Promise<Response> {
  return new Response(contentOf(await guarded.fetch(url.href, limits.answerBytesMax, signal)));
}

function contentOf<Result>(outcome: FetchOutcome<Result>): Result {
  if (outcome.kind === "fetched") return outcome.content;
  const stage = outcome.fault === "too-large" ? "too-large" : "result";
  throw new TransportFailure(stage, `a file that the provider linked to could not be fetched: ${outcome.fault}`);
}

const BEFORE_SENDING = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function stageOf(error: unknown): TransportStage {
  const code = innermostCode(error);
  if (BEFORE_SENDING.has(code) || /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code))
    return "connect";
  if (error instanceof Error && error.name === "HTTPParserError") return "protocol"; // some have no code
  return /^(HPE_|UND_ERR_(INFO|INVALID|RESPONSE|HEADERS_OVERFLOW))/.test(code) ? "protocol" : "sent";
}

/** If several addresses of a name fail, Node throws an AggregateError; its first error decides. */
function innermostCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return innermostCode(error.errors[0]);
  return codeOf(error) ?? (error instanceof Error && error.cause !== undefined ? innermostCode(error.cause) : "");
}

function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

/** The request may be repeated, whatever the body says. */
function transientAnswer(status: number, headers: AnswerHead["headers"]): AnswerFailure {
  return new AnswerFailure({ status, headers: Object.entries(headers) }, "");
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}
