/**
 * Sends bytes to and from a provider: one undici Agent per provider, HTTP/2 if offered, no redirects, no decompression,
 * and a size limit for every response. It uses `request` instead of `fetch`, which costs a quarter to half of the CPU
 * per call (measured 2026-11) and never follows, decodes, or retries anything by itself.
 */
import type { Agent, Dispatcher } from "undici";
import { readLimited, ReaderFault, type FetchOutcome, type GuardedFetch, type BodyReader } from "../../files/index.ts";
import { codeOf } from "../../platform/reason-of.ts";
import { AnswerFailure } from "./jobs.ts";
import type { ProviderEndpoint } from "./provider.ts";
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
  let opening: Promise<Agent> | null = null;
  const openAgent = () => (opening ??= createAgent(options.idleMs));
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
    close: async () => (await opening)?.destroy(),
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
  return request(agent, target, { init, signal }, async ({ status, headers, body }) => {
    if (isRedirect(status)) {
      abandon(body);
      throw new TransportFailure("protocol", "the provider answered with a redirect");
    }
    if (status === 200 && isEventStream(headers))
      return new Response(ReadableStream.from(pieces(body, limits.answerBytesMax, signal)), { status, headers });
    refuseBody(body, headers, limits.answerBytesMax);
    const bytes = await collectBody(body, limits.answerBytesMax);
    if (limits.isPoll === true && isTransient(status)) throw transientAnswer(status, headers);
    if (hasNoBody(status)) return new Response(null, { status, headers });
    return answerWhole(shownBytes(bytes, target.alias), { status, headers });
  });
}

/** @returns a URL if the response redirects. */
async function takeOwn<Result>(
  agent: Agent,
  target: Target,
  limits: BodyReader<Result>,
  signal: AbortSignal,
): Promise<{ readonly content: Result } | URL> {
  return request(agent, target, { init: {}, signal }, async ({ status, headers, body }) => {
    if (status === 200) return { content: await takeBody(body, headers, limits) };
    abandon(body);
    const next = isRedirect(status) ? URL.parse(headers["location"] ?? "", target.url.href) : null;
    if (next !== null) return next;
    if (isTransient(status)) throw transientAnswer(status, headers);
    throw new TransportFailure("result", `the file's address returned ${status}`);
  });
}

interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData["body"];
}

/** Makes one request, whose response `read` turns into a result. Every failure below HTTP is a TransportFailure. */
async function request<Result>(
  agent: Agent,
  target: Target,
  { init, signal }: Pick<Exchange, "init" | "signal">,
  read: (received: Received) => Promise<Result>,
): Promise<Result> {
  const body = await encodeBody(init);
  const headers: Record<string, string> = {
    ...plainHeaders(init.headers),
    ...body.headers,
    ...(target.alias === null ? {} : { [target.alias.header]: new URL(target.alias.shown).host }),
  };
  try {
    const answer = await agent.request({
      origin: target.url.origin,
      path: target.url.pathname + target.url.search,
      method: init.method ?? "GET",
      headers,
      body: body.bytes,
      signal,
    });
    return await read({ status: answer.statusCode, headers: flatten(answer.headers), body: answer.body });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ReaderFault) throw error.cause;
    if (error instanceof TransportFailure || error instanceof AnswerFailure) throw error;
    throw connectionFailed(error);
  }
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
function isEventStream(headers: Received["headers"]): boolean {
  return /^text\/event-stream\b/i.test(headers["content-type"] ?? "") && headers["content-encoding"] === undefined;
}

async function* pieces(body: Received["body"], bytesMax: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      bytes += piece.byteLength;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      yield piece;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof TransportFailure ? error : connectionFailed(error);
  }
}

function tooLarge(bytesMax: number): TransportFailure {
  return new TransportFailure("too-large", `the response is larger than ${bytesMax} bytes`);
}

function connectionFailed(error: unknown): TransportFailure {
  return new TransportFailure(stageOf(error), "the connection to the provider failed", error);
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

async function takeBody<Result>(
  body: Received["body"],
  headers: Received["headers"],
  limits: BodyReader<Result>,
): Promise<Result> {
  refuseBody(body, headers, limits.bytesMax);
  return readLimited(body, limits, () => tooLarge(limits.bytesMax));
}

/** @throws TransportFailure if a body declares itself too large, or is compressed. */
function refuseBody(body: Received["body"], headers: Received["headers"], bytesMax: number): void {
  const encoding = headers["content-encoding"] ?? "identity";
  const isTooLarge = Number(headers["content-length"] ?? 0) > bytesMax;
  if (encoding === "identity" && !isTooLarge) return;
  abandon(body);
  if (isTooLarge) throw tooLarge(bytesMax);
  throw new TransportFailure("protocol", "the provider compressed a response without being asked to");
}

/** Uses events: two nested `for await` loops took a sixth of the time of a whole exchange (measured 2026-11). */
function collectBody(body: Received["body"], bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer<ArrayBuffer>>();
  const all: Uint8Array[] = [];
  let bytes = 0;
  body.on("data", (piece: Uint8Array) => {
    bytes += piece.byteLength;
    if (bytes > bytesMax) body.destroy(tooLarge(bytesMax));
    else all.push(piece);
  });
  body.on("end", () => resolve(Buffer.concat(all)));
  body.on("error", reject);
  body.on("close", () => {
    if (!body.readableEnded) reject(new Error("the body ended before it was complete"));
  });
  return promise;
}

/** Destroys an unwanted response body. The resulting error must not end the process. */
function abandon(body: Received["body"]): void {
  body.on("error", () => {}).destroy();
}

/** Repeated headers are joined, as HTTP allows. The framing header means nothing once the bytes are read. */
function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === "transfer-encoding"
      ? []
      : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
  return Object.fromEntries(pairs);
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
function transientAnswer(status: number, headers: Received["headers"]): AnswerFailure {
  return new AnswerFailure({ status, headers: Object.entries(headers) }, "");
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}
