/**
 * Sends a request to an address that a user named, with the guards of guarded-fetch.ts: only public addresses, pinned, no
 * redirects, no proxy, no cookies, one connection per request. Only the status of the response is used.
 */
import type { Client } from "undici";
import { orAborted, withDeadline } from "../../platform/resilience/deadline.ts";
import { clientOver, connectGuarded, FetchRefusal, loadClient, NETWORK, type NetworkSteps } from "./guarded-connect.ts";
import { parsePublicUrl, type UrlFault } from "./public-address.ts";

export interface GuardedPostOptions {
  /** True: http, any port, this machine, and private networks are also allowed. Set by the operator. */
  readonly allowsPrivate: boolean;
  /** For tests: other name servers and another network. No setting reaches this. */
  readonly network?: Partial<NetworkSteps>;
  /** For tests: certificates to trust instead of the machine's own. */
  readonly trusted?: string;
  /** From DNS to the end of the response; if absent, 15,000. */
  readonly totalMs?: number;
}

interface PostContent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type PostOutcome =
  | { readonly kind: "answered"; readonly statusCode: number }
  /** `address`: no public address, or none at all. The difference would reveal which names a private network has. */
  | { readonly kind: "refused"; readonly fault: "address" | "connection" | "timeout" };

export interface GuardedPost {
  /** Why requests to the address are not allowed, as a sentence; null: they are, unless its name resolves to a forbidden address. */
  faultOf(address: string): string | null;
  /** Rejects only if `signal` aborts or on a bug. */
  post(address: string, content: PostContent, signal: AbortSignal): Promise<PostOutcome>;
}

const TOTAL_MS = 15_000;
const CONNECT_MS = 5_000;
/** This much of a response is read and discarded, so that the receiver's connection is not reset. */
const ANSWER_BYTES_MAX = 16_384;

const SENTENCES: Readonly<Record<UrlFault, string>> = {
  "not-text": "url is not a valid address.",
  "too-long": "url is too long.",
  "not-https": "url must be an https:// address.",
  "not-a-url": "url is not a valid address.",
  "user-info": "url must not contain a user name or password.",
  port: "url must not include a port: webhooks are sent to port 443.",
  "not-public": "url must name a host on the public internet.",
};

export function createGuardedPost(options: GuardedPostOptions): GuardedPost {
  const { allowsPrivate, totalMs = TOTAL_MS } = options;
  return {
    faultOf: (address) => {
      // The parser drops these characters, so the stored address would differ from what people read.
      if (/[\s\p{C}]/u.test(address)) return SENTENCES["not-text"];
      const parsed = allowsPrivate ? parseAnyUrl(address) : parsePublicUrl(address);
      if ("url" in parsed) return null;
      return allowsPrivate && parsed.fault === "not-https"
        ? "url must be an http:// or https:// address."
        : SENTENCES[parsed.fault];
    },
    post: async (address, content, signal) => {
      signal.throwIfAborted();
      const late = () => new FetchRefusal("timeout");
      const send = (total: AbortSignal) => sendOnce(address, content, total, options);
      try {
        return { kind: "answered", statusCode: await withDeadline(totalMs, send, { signal, error: late }) };
      } catch (error) {
        signal.throwIfAborted();
        return { kind: "refused", fault: faultOf(error) };
      }
    },
  };
}

function faultOf(error: unknown): "address" | "connection" | "timeout" {
  if (!(error instanceof FetchRefusal)) return "connection"; // a network or HTTP error
  if (error.fault === "blocked" || error.fault === "dns") return "address";
  return error.fault === "timeout" ? "timeout" : "connection";
}

function parseAnyUrl(text: string): ReturnType<typeof parsePublicUrl> {
  const url = URL.parse(text);
  if (url === null) return { fault: "not-a-url" };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { fault: "not-https" };
  return url.username !== "" || url.password !== "" ? { fault: "user-info" } : { url };
}

async function sendOnce(
  address: string,
  { headers, body }: PostContent,
  signal: AbortSignal,
  options: GuardedPostOptions,
): Promise<number> {
  const parsed = options.allowsPrivate ? parseAnyUrl(address) : parsePublicUrl(address);
  if ("fault" in parsed) throw new FetchRefusal("blocked");
  const { url } = parsed;
  const client = await orAborted(openClient(url, signal, options), signal);
  try {
    const path = url.pathname + url.search;
    const answer = await orAborted(client.request({ path, method: "POST", headers, body, signal }), signal);
    // The status decides. What happens to the body, even an abort, changes nothing.
    await orAborted(answer.body.dump({ limit: ANSWER_BYTES_MAX }), signal).catch(() => undefined);
    return answer.statusCode;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    await client.destroy();
  }
}

async function openClient(
  url: URL,
  signal: AbortSignal,
  { allowsPrivate, network, trusted }: GuardedPostOptions,
): Promise<Client> {
  const HttpClient = await loadClient();
  // The operator trusts users with the network, so names are resolved by the operating system.
  if (allowsPrivate) {
    const connect = { timeout: CONNECT_MS, ...(trusted === undefined ? {} : { ca: trusted }) };
    return new HttpClient(url.origin, { connect, headersTimeout: 0, bodyTimeout: 0 });
  }
  const socket = await connectGuarded(url, { ...NETWORK, ...network }, trusted ?? null, signal);
  if (signal.aborted) socket.destroy();
  return clientOver(socket, url.origin, HttpClient);
}
