/**
 * Opens a TLS connection to a host that a caller named, but only on the public internet. There are three checks, since
 * each of them alone has been bypassed elsewhere: the literal host (literals are never looked up), every address that the
 * name resolves to (the connection is pinned to these, so a second, different DNS answer is never requested), and the
 * address that the socket actually reached, before any byte is sent.
 */
import { Resolver } from "node:dns/promises";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Client } from "undici";
import { isPublicAddress, isPublicHost } from "./public-address.ts";

export type FetchFault =
  | "blocked"
  | "dns"
  | "connection"
  | "timeout"
  | "status"
  | "redirect"
  | "encoding"
  | "too-large";

/** Ends a fetch. The reason is for the log; a caller learns at most that something was too large. */
export class FetchRefusal extends Error {
  override readonly name = "FetchRefusal";
  readonly fault: FetchFault;
  constructor(fault: FetchFault, cause?: unknown) {
    super(`refused: ${fault}`, { cause });
    this.fault = fault;
  }
}

export interface ConnectTarget {
  /** One or more public addresses; any of them may be used, and no other. */
  readonly addresses: readonly string[];
  readonly port: number;
}

/** The two steps that touch the network; tests replace them and count their calls. */
export interface NetworkSteps {
  /** All addresses of a name; empty if it has none. */
  readonly resolve: (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly connect: (target: ConnectTarget, signal: AbortSignal) => Promise<Socket>;
}

export const NETWORK: NetworkSteps = { resolve: resolveName, connect: openSocket };

const HTTPS_PORT = 443;

/** @param trusted certificates to trust instead of the machine's own, as PEM; null: the machine's. */
export async function connectGuarded(
  url: URL,
  steps: NetworkSteps,
  trusted: string | null,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const addresses = await findAddresses(url.hostname, steps, signal);
  signal.throwIfAborted();
  const socket = await steps.connect({ addresses, port: HTTPS_PORT }, signal);
  if (socket.remoteAddress === undefined || !isPublicAddress(socket.remoteAddress)) {
    socket.destroy();
    throw new FetchRefusal("blocked");
  }
  return secure(socket, bareHost(url.hostname), trusted, signal);
}

/** Load this before opening the socket: while a socket waits for its client, nobody listens to it. */
export async function loadClient(): Promise<typeof Client> {
  const { Client: loaded } = await import("undici");
  return loaded;
}

/** Speaks HTTP over a checked socket only: a second connection would be unchecked. */
export function clientOver(socket: TLSSocket, origin: string, HttpClient: typeof Client): Client {
  let offered = false;
  return new HttpClient(origin, {
    // The client gets the socket in a microtask, since it misses a response that arrives before its own call returns.
    connect: (_options, done) => {
      const refused = offered;
      offered = true;
      queueMicrotask(() => (refused ? done(new FetchRefusal("connection"), null) : done(null, socket)));
    },
    headersTimeout: 0, // the client's own timers count only idle time; callers' deadlines count total time
    bodyTimeout: 0,
  });
}

async function findAddresses(hostname: string, steps: NetworkSteps, signal: AbortSignal): Promise<readonly string[]> {
  if (!isPublicHost(hostname)) throw new FetchRefusal("blocked");
  const bare = bareHost(hostname);
  if (isIP(bare) !== 0) return [bare];
  const addresses = await steps.resolve(bare, signal);
  if (addresses.length === 0) throw new FetchRefusal("dns");
  // One private address among public ones is an attack, not a mistake to work around.
  if (!addresses.every((address) => isPublicAddress(address))) throw new FetchRefusal("blocked");
  return addresses;
}

function bareHost(hostname: string): string {
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

const DNS_TRY_MS = 1_200;

/**
 * Queries the name servers directly instead of through the operating system. That call would block one of four threads
 * for as long as a caller's own slow name server takes, and would read the machine's hosts file.
 */
async function resolveName(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: 2 });
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** Tries these addresses one after another (Node's own Happy Eyeballs), and no others: the lookup only returns them. */
function openSocket(target: ConnectTarget, signal: AbortSignal): Promise<Socket> {
  const all = target.addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup = ((_host, _options, done) => done(null, all)) as LookupFunction;
  const socket = connectTcp({ host: "pinned.invalid", port: target.port, lookup, autoSelectFamily: true });
  return settle(socket, "connect", signal);
}

function secure(socket: Socket, host: string, trusted: string | null, signal: AbortSignal): Promise<TLSSocket> {
  const secured = connectTls({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(trusted === null ? {} : { ca: trusted }),
    ALPNProtocols: ["http/1.1"],
  });
  return settle(secured, "secureConnect", signal);
}

function settle<Kind extends Socket>(
  socket: Kind,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<Kind> {
  return new Promise((resolve, reject) => {
    const stop = () => socket.destroy(signal.reason as Error);
    const fail = (error: Error) => reject(error);
    const close = () => reject(new Error("The connection was closed before it was established."));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    socket.once("error", fail);
    socket.once("close", close);
    socket.once(event, () => {
      signal.removeEventListener("abort", stop);
      socket.off("error", fail);
      socket.off("close", close);
      resolve(socket);
    });
  });
}
