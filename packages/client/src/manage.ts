import { ACCOUNT_HEADER, MANAGE_ENDPOINTS, type ManageShapes } from "@promptd/contract/manage";
import { createCallEndpoint, type CallEndpoint, type EndpointCall } from "./call-endpoint.ts";
import { delay as realDelay, type Delay } from "./delay.ts";
import { createTransport, type RawAnswer, type RawRequest } from "./transport.ts";

export interface ManageClientOptions {
  /** Such as `http://127.0.0.1:8787`; in a page of the server, `location.origin`. */
  readonly baseUrl: string;
  /** A management token. Absent: the session cookie of the page, which the browser sends by itself. */
  readonly token?: string | undefined;
  /** The account to act in, asked for at each request; null: the personal one. A write with a session needs one. */
  readonly account?: (() => string | null) | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The global fetch when absent. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** How often one call may be sent again after 429, 500 or a lost connection; 5 when absent. */
  readonly maxRetries?: number | undefined;
  /** Longest time for one answer; 30,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Replaceable for tests: time and chance. */
  readonly delay?: Delay | undefined;
  readonly random?: (() => number) | undefined;
}

export interface ManageClient {
  /** Any endpoint of the management API with retries, and with status and headers of the answer. */
  readonly call: CallEndpoint<ManageShapes>;
  /** Content of the answer of an endpoint. What it does not take may be left out. */
  send<N extends keyof ManageShapes>(
    name: N,
    call?: Partial<EndpointCall<ManageShapes[N]>>,
  ): Promise<ManageShapes[N]["data"]>;
  /** One request as it is: no retry, and no status is an exception. */
  request(request: RawRequest): Promise<RawAnswer>;
}

const MAX_RETRIES_DEFAULT = 5;
const TIMEOUT_MS_DEFAULT = 30_000;

/**
 * The client of the management API for any JavaScript runtime.
 * @throws TypeError when the base URL is not an http or https address.
 */
export function createManageClient(options: ManageClientOptions): ManageClient {
  const { baseUrl, token, account } = options;
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const { send } = createTransport({ baseUrl, fetch, timeoutMs: options.timeoutMs ?? TIMEOUT_MS_DEFAULT }, () => {
    const accountId = account?.() ?? null;
    return {
      accept: "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(accountId === null ? {} : { [ACCOUNT_HEADER]: accountId }),
      ...options.headers,
    };
  });
  const call = createCallEndpoint<ManageShapes>(MANAGE_ENDPOINTS, send, {
    maxRetries: options.maxRetries ?? MAX_RETRIES_DEFAULT,
    delay: options.delay ?? realDelay,
    random: options.random ?? Math.random,
  });
  return {
    call,
    request: send,
    send: async (name, given) => (await call(name, { params: {}, query: {}, body: undefined, ...given } as never)).data,
  };
}

export { randomKey } from "./random-key.ts";
export { PromptdConnectionError, PromptdError, PromptdProtocolError } from "./errors.ts";
export type { WebhookEvent } from "@promptd/contract/manage";
