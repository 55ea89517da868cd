/**
 * Fetches URLs that a caller or a provider names, with every limit on this side: addresses, redirects, sizes, times.
 * It uses `request` instead of `fetch`, which inflated a 194 KB response to 200 MB (measured 2026-11) and follows redirects
 * by itself. No proxy, cookie, credential, or pooled connection is used: each hop has its own client.
 */
import type { TLSSocket } from "node:tls";
import type { Dispatcher } from "undici";
import { orAborted, withDeadline } from "../../platform/resilience/deadline.ts";
import { retry } from "../../platform/resilience/retry.ts";
import {
  clientOver,
  connectGuarded,
  FetchRefusal,
  loadClient,
  NETWORK,
  type FetchFault,
  type NetworkSteps,
} from "./guarded-connect.ts";
import { describeRefusal } from "./describe-refusal.ts";
import { parsePublicUrl } from "./public-address.ts";
import { collectBytes, readLimited, ReaderFault, type BodyReader } from "./limited-body.ts";
import { readAboveFloor, type ThroughputFloor } from "./throughput-floor.ts";

interface FetchTimes extends ThroughputFloor {
  /** DNS, TCP, and TLS together. */
  readonly connectMs: number;
  /** From the connection to the response headers. */
  readonly headersMs: number;
  /** Total time, including redirects and the one retry. */
  readonly totalMs: number;
}

/** At least 20 kB/s: otherwise a host that sends a byte now and then would hold a permit the whole time. */
const TIMES: FetchTimes = {
  connectMs: 3_000,
  headersMs: 3_000,
  windowMs: 2_000,
  windowBytesMin: 40_000,
  totalMs: 15_000,
};
const REDIRECTS_MAX = 3;
const REQUEST_HEADERS = { "user-agent": "promptd", accept: "image/png, image/jpeg, image/webp, image/gif, */*;q=0.1" };

export interface GuardedFetchOptions {
  /** For tests: other name servers and another network. No setting reaches this, so none can open private ranges. */
  readonly network?: Partial<NetworkSteps>;
  /** For tests: certificates to trust instead of the machine's own. */
  readonly trusted?: string;
  readonly times?: Partial<FetchTimes>;
}

export type FetchOutcome<Result> =
  | { readonly kind: "fetched"; readonly content: Result }
  /** `fault` is for counters, `detail` a sentence for operators. Callers may learn only "too-large": more would be a port scanner. */
  | { readonly kind: "refused"; readonly fault: FetchFault; readonly detail: string };

export interface GuardedFetch {
  /** Fetches at most `bytesMax` bytes from an https address. Rejects only if `signal` aborts or on a bug. */
  fetch(address: string, bytesMax: number, signal: AbortSignal): Promise<FetchOutcome<Buffer<ArrayBuffer>>>;
  /** The same for bytes that are not collected in memory. Errors of `read` itself are rethrown. */
  fetchInto<Result>(address: string, limits: BodyReader<Result>, signal: AbortSignal): Promise<FetchOutcome<Result>>;
}

export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const settings: Settings = {
    steps: { ...NETWORK, ...options.network },
    trusted: options.trusted ?? null,
    times: { ...TIMES, ...options.times },
  };
  return {
    fetch: (address, bytesMax, signal) => fetchGuarded(address, { bytesMax, read: collectBytes, signal }, settings),
    fetchInto: (address, limits, signal) => fetchGuarded(address, { ...limits, signal }, settings),
  };
}

interface Settings {
  readonly steps: NetworkSteps;
  readonly trusted: string | null;
  readonly times: FetchTimes;
}

async function fetchGuarded<Result>(
  address: string,
  bounds: Bounds<Result>,
  settings: Settings,
): Promise<FetchOutcome<Result>> {
  const { signal } = bounds;
  signal.throwIfAborted();
  const at = { host: "" };
  const follow = (total: AbortSignal) => followRedirects(address, { ...bounds, signal: total, at }, settings);
  try {
    return { kind: "fetched", content: await withTimeout(settings.times.totalMs, follow, signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FetchRefusal)
      return { kind: "refused", fault: error.fault, detail: describeRefusal(error, at.host) };
    throw error instanceof ReaderFault ? error.cause : error;
  }
}

function withTimeout<Result>(ms: number, work: (signal: AbortSignal) => Promise<Result>, signal: AbortSignal) {
  return withDeadline(ms, work, { signal, error: () => new FetchRefusal("timeout") });
}

interface Bounds<Result> extends BodyReader<Result> {
  readonly signal: AbortSignal;
}

async function followRedirects<Result>(
  address: string,
  bounds: Bounds<Result> & { readonly at: { host: string } },
  settings: Settings,
): Promise<Result> {
  let next = address;
  let retriesLeft = 1; // for all hops combined
  const on = (error: unknown) => isTransient(error) && retriesLeft-- > 0;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops += 1) {
    bounds.at.host = URL.parse(next)?.host ?? "";
    const parsed = parsePublicUrl(next);
    if ("fault" in parsed) throw new FetchRefusal("blocked");
    const answer = await retry(() => fetchHop(parsed.url, bounds, settings), { on, signal: bounds.signal });
    if (answer.kind === "body") return answer.content;
    next = answer.location;
  }
  throw new FetchRefusal("redirect");
}

/** A failed connection, or a response with status 500 to 599. */
function isTransient(error: unknown): boolean {
  return error instanceof ServerFault || (error instanceof FetchRefusal && error.fault === "connection");
}

class ServerFault extends FetchRefusal {
  constructor(status: number) {
    super("status", status);
  }
}

type HopAnswer<Result> =
  | { readonly kind: "body"; readonly content: Result }
  | { readonly kind: "redirect"; readonly location: string };

async function fetchHop<Result>(url: URL, bounds: Bounds<Result>, settings: Settings): Promise<HopAnswer<Result>> {
  const HttpClient = await loadClient();
  const socket = await connectInTime(url, bounds.signal, settings);
  const client = clientOver(socket, url.origin, HttpClient);
  const { signal } = bounds;
  const request = { path: url.pathname + url.search, method: "GET", headers: REQUEST_HEADERS, signal } as const;
  try {
    const ask = (headersSignal: AbortSignal) => orAborted(client.request(request), headersSignal);
    return await readAnswer(await withTimeout(settings.times.headersMs, ask, signal), url, bounds, settings.times);
  } catch (error) {
    throw asRefusal(error, signal);
  } finally {
    socket.destroy();
    await client.destroy();
  }
}

async function connectInTime(url: URL, signal: AbortSignal, { steps, trusted, times }: Settings): Promise<TLSSocket> {
  // A step that ignores its signal must not delay the deadline.
  const connect = (inner: AbortSignal) => orAborted(connectGuarded(url, steps, trusted, inner), inner);
  try {
    return await withTimeout(times.connectMs, connect, signal);
  } catch (error) {
    // A connection that takes too long counts as failed: it may be retried in the remaining time.
    if (error instanceof FetchRefusal && error.fault !== "timeout") throw error;
    throw new FetchRefusal("connection", error);
  }
}

async function readAnswer<Result>(
  answer: Dispatcher.ResponseData,
  url: URL,
  bounds: Bounds<Result>,
  floor: ThroughputFloor,
): Promise<HopAnswer<Result>> {
  const { statusCode, headers } = answer;
  if ([301, 302, 303, 307, 308].includes(statusCode)) {
    const location = typeof headers["location"] === "string" ? URL.parse(headers["location"], url.href) : null;
    if (location === null) throw new FetchRefusal("redirect");
    return { kind: "redirect", location: location.href };
  }
  if (statusCode >= 500) throw new ServerFault(statusCode);
  if (statusCode !== 200) throw new FetchRefusal("status", statusCode);
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") throw new FetchRefusal("encoding");
  if (Number(headers["content-length"] ?? 0) > bounds.bytesMax) throw new FetchRefusal("too-large");
  const read = (body: AsyncIterable<Uint8Array>) => readLimited(body, bounds, () => new FetchRefusal("too-large"));
  return {
    kind: "body",
    content: await readAboveFloor(answer.body, read, floor, () => new FetchRefusal("timeout")),
  };
}

/** All network and HTTP errors are connection failures, except those that already say what they are, such as a deadline. */
function asRefusal(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof FetchRefusal || error instanceof ReaderFault) return error;
  if (signal.aborted) return signal.reason;
  return new FetchRefusal("connection", error);
}
