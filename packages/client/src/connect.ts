import type { EndpointEntry } from "@promptd/contract";
import { createAsk, createCallEndpoint, type Ask, type CallEndpoint, type Shapes } from "./call-endpoint.ts";
import { delay as realDelay, type Delay } from "./delay.ts";
import type { RetryPolicy } from "./retry.ts";
import { createTransport, type RawAnswer, type Transport } from "./transport.ts";

/** Options of both clients. */
export interface ConnectOptions {
  readonly baseUrl: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** How often a call is retried after a 429, a 500, or a lost connection. Default: 5. */
  readonly maxRetries?: number | undefined;
  /** Response timeout, not counting the server's own wait for a run. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called with a message for people: a run ignored some of its inputs or options, or the server has not responded for
   * some seconds and the client retries. Default: console.warn.
   */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Replaceable for tests: time and chance. */
  readonly delay?: Delay | undefined;
  readonly random?: (() => number) | undefined;
}

export interface Connecting<All> {
  /** The endpoints of the API, by name. */
  readonly entries: Readonly<Record<keyof All & string, Pick<EndpointEntry, "method" | "path">>>;
  /** Returns the headers of every request; called for each request. */
  readonly headersOf: () => Record<string, string>;
  /** Called for each response of `send`. */
  readonly onAnswer?: (answer: RawAnswer) => void;
}

export interface Connection<All extends Shapes<keyof All & string>> extends Transport {
  readonly call: CallEndpoint<All>;
  readonly ask: Ask<All>;
  readonly policy: RetryPolicy;
  readonly onWarning: (message: string) => void;
  readonly timeoutMs: number;
}

const MAX_RETRIES_DEFAULT = 5;
const TIMEOUT_MS_DEFAULT = 30_000;

/** @throws TypeError if the base URL is not an http or https URL. */
export function connect<All extends Shapes<keyof All & string>>(
  options: ConnectOptions,
  { entries, headersOf, onAnswer }: Connecting<All>,
): Connection<All> {
  const { baseUrl, timeoutMs = TIMEOUT_MS_DEFAULT, maxRetries = MAX_RETRIES_DEFAULT } = options;
  // oxlint-disable-next-line eslint/no-console -- a misspelled input in a paid run must not go unnoticed
  const warn = (message: string): void => console.warn(`promptd: ${message}`);
  const { delay = realDelay, random = Math.random, onWarning = warn } = options;
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const transport = createTransport({ baseUrl, fetch, timeoutMs }, headersOf);
  const send: Transport["send"] = async (request) => {
    const answer = await transport.send(request);
    onAnswer?.(answer);
    return answer;
  };
  const policy = { maxRetries, delay, random, onWarning };
  const call = createCallEndpoint<All>(entries, send, policy);
  return { send, exchange: transport.exchange, call, ask: createAsk(call), policy, onWarning, timeoutMs };
}
