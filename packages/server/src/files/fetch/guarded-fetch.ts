/**
 * Fetches what a caller or a provider points to, with every limit on this side: addresses, redirects, sizes, times.
 * `request` and not `fetch`: the latter inflated a 194 KB answer to 200 MB (measured 2026-11), and follows redirects
 * by itself. No proxy, cookie, credential or pooled connection is used: each hop has a client of its own.
 */
import type { TLSSocket } from "node:tls";
import { Client, type Dispatcher } from "undici";
import { connectGuarded, FetchRefusal, NETWORK, type FetchFault, type NetworkSteps } from "./guarded-connect.ts";
import { parsePublicUrl } from "./public-address.ts";
import { collectBytes, readLimited, ReaderFault, type BodyReader } from "./limited-body.ts";

interface FetchTimes {
  /** Name, TCP and TLS together. */
  readonly connectMs: number;
  /** From the connection to the answer's headers. */
  readonly headersMs: number;
  /** Everything, redirects and the one retry included. */
  readonly totalMs: number;
}

const TIMES: FetchTimes = { connectMs: 3_000, headersMs: 5_000, totalMs: 15_000 };
const REDIRECTS_MAX = 3;
const REQUEST_HEADERS = { "user-agent": "promptd", accept: "image/png, image/jpeg, image/webp, image/gif, */*;q=0.1" };

export interface GuardedFetchOptions {
  /** In tests: other name servers and another network. No setting leads here, so none can open private ranges. */
  readonly network?: Partial<NetworkSteps>;
  /** In tests: certificates to trust instead of the machine's own. */
  readonly trusted?: string;
  readonly times?: Partial<FetchTimes>;
}

export type FetchOutcome<Result> =
  | { readonly kind: "fetched"; readonly content: Result }
  /** `fault` is for logs and counters. Only "too-large" may be told to a caller: the rest would make a port scanner. */
  | { readonly kind: "refused"; readonly fault: FetchFault };

export interface GuardedFetch {
  /** At most `bytesMax` bytes of an https address. Rejects only when `signal` aborts or on a bug. */
  fetch(address: string, bytesMax: number, signal: AbortSignal): Promise<FetchOutcome<Buffer>>;
  /** The same for bytes that are not held in memory. An error of `read` itself is rethrown. */
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
  const total = startDeadline(settings.times.totalMs, signal);
  try {
    return { kind: "fetched", content: await followRedirects(address, { ...bounds, signal: total.signal }, settings) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FetchRefusal) return { kind: "refused", fault: error.fault };
    throw error instanceof ReaderFault ? error.cause : error;
  } finally {
    total.stop();
  }
}

interface Bounds<Result> extends BodyReader<Result> {
  readonly signal: AbortSignal;
}

async function followRedirects<Result>(address: string, bounds: Bounds<Result>, settings: Settings): Promise<Result> {
  let next = address;
  let retriesLeft = 1;
  for (let hops = 0; hops <= REDIRECTS_MAX;) {
    const parsed = parsePublicUrl(next);
    if ("fault" in parsed) throw new FetchRefusal("blocked");
    try {
      const answer = await fetchHop(parsed.url, bounds, settings);
      if (answer.kind === "body") return answer.content;
      next = answer.location;
      hops += 1;
    } catch (error) {
      if (retriesLeft === 0 || !isWorthRetrying(error, bounds.signal)) throw error;
      retriesLeft -= 1;
    }
  }
  throw new FetchRefusal("redirect");
}

/** A failed connection or an answer of 500 to 599, once. */
function isWorthRetrying(error: unknown, signal: AbortSignal): boolean {
  if (signal.aborted || !(error instanceof FetchRefusal)) return false;
  return error.fault === "connection" || error instanceof ServerFault;
}

class ServerFault extends FetchRefusal {
  constructor() {
    super("status");
  }
}

type HopAnswer<Result> =
  | { readonly kind: "body"; readonly content: Result }
  | { readonly kind: "redirect"; readonly location: string };

async function fetchHop<Result>(url: URL, bounds: Bounds<Result>, settings: Settings): Promise<HopAnswer<Result>> {
  const socket = await connectInTime(url, bounds.signal, settings);
  let offered = false;
  const client = new Client(url.origin, {
    // The checked socket is the only one it gets; a second attempt would be a connection nobody has looked at.
    // Told in a later step: the client does not notice an answer that is there before its own call returns.
    connect: (_options, done) => {
      const refused = offered;
      offered = true;
      queueMicrotask(() => (refused ? done(new FetchRefusal("connection"), null) : done(null, socket)));
    },
    headersTimeout: 0, // both of its own timers count idle time only; the deadlines here count all of it
    bodyTimeout: 0,
  });
  const headers = startDeadline(settings.times.headersMs, bounds.signal);
  try {
    const request = { path: url.pathname + url.search, method: "GET", headers: REQUEST_HEADERS } as const;
    const answer = await client.request({ ...request, signal: headers.signal });
    headers.disarm();
    return await readAnswer(answer, url, bounds);
  } catch (error) {
    throw asRefusal(error, headers.signal);
  } finally {
    headers.stop();
    socket.destroy();
    await client.destroy();
  }
}

async function connectInTime(url: URL, signal: AbortSignal, settings: Settings): Promise<TLSSocket> {
  const connecting = startDeadline(settings.times.connectMs, signal);
  try {
    const { steps, trusted } = settings;
    return await raceAbort(connectGuarded(url, steps, trusted, connecting.signal), connecting.signal);
  } catch (error) {
    // A connection that takes too long is one that failed: it may be tried again in what is left of the time.
    if (error instanceof FetchRefusal && error.fault !== "timeout") throw error;
    throw new FetchRefusal("connection", error);
  } finally {
    connecting.stop();
  }
}

async function readAnswer<Result>(
  answer: Dispatcher.ResponseData,
  url: URL,
  bounds: Bounds<Result>,
): Promise<HopAnswer<Result>> {
  const { statusCode, headers } = answer;
  if ([301, 302, 303, 307, 308].includes(statusCode)) {
    const location = typeof headers["location"] === "string" ? URL.parse(headers["location"], url.href) : null;
    if (location === null) throw new FetchRefusal("redirect");
    return { kind: "redirect", location: location.href };
  }
  if (statusCode >= 500) throw new ServerFault();
  if (statusCode !== 200) throw new FetchRefusal("status");
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") throw new FetchRefusal("encoding");
  if (Number(headers["content-length"] ?? 0) > bounds.bytesMax) throw new FetchRefusal("too-large");
  return { kind: "body", content: await readLimited(answer.body, bounds, () => new FetchRefusal("too-large")) };
}

/** Whatever the network or the other side's HTTP did wrong is a fault of the connection; a deadline names itself. */
function asRefusal(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof FetchRefusal || error instanceof ReaderFault) return error;
  if (signal.aborted) return signal.reason;
  return new FetchRefusal("connection", error);
}

interface Deadline {
  readonly signal: AbortSignal;
  /** Switches its own limit off; the outer signal goes on counting. */
  disarm(): void;
  /** Must be called: it frees the timer and the link to the outer signal. */
  stop(): void;
}

function startDeadline(ms: number, outer: AbortSignal): Deadline {
  const controller = new AbortController();
  const expire = () => controller.abort(new FetchRefusal("timeout"));
  const follow = () => controller.abort(outer.reason);
  if (outer.aborted) follow();
  outer.addEventListener("abort", follow, { once: true });
  const timer = setTimeout(expire, ms);
  return {
    signal: controller.signal,
    disarm: () => clearTimeout(timer),
    stop: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", follow);
    },
  };
}

/** A step that does not listen to its signal must not hold a deadline up. */
async function raceAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
