import { ACCOUNT_HEADER, MANAGE_ENDPOINTS, type ManageShapes } from "@promptd/contract/manage";
import type { Ask, CallEndpoint } from "./call-endpoint.ts";
import { connect, type ConnectOptions } from "./connect.ts";
import type { RawAnswer, RawRequest } from "./transport.ts";

export interface ManageClientOptions extends ConnectOptions {
  /** Such as `http://127.0.0.1:8787`; in a page of the server, `location.origin`. */
  readonly baseUrl: string;
  /** A management token. Absent: the session cookie of the page, which the browser sends by itself. */
  readonly token?: string | undefined;
  /** The account to act in, asked for at each request; null: the personal one. A write with a session needs one. */
  readonly account?: (() => string | null) | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface ManageClient {
  /** Any endpoint of the management API with retries, and with status and headers of the answer. */
  readonly call: CallEndpoint<ManageShapes>;
  /** Content of the answer of an endpoint. What it does not take may be left out. */
  readonly send: Ask<ManageShapes>;
  /** One request as it is: no retry, and no status is an exception. */
  request(request: RawRequest): Promise<RawAnswer>;
}

/**
 * The client of the management API for any JavaScript runtime.
 * @throws TypeError when the base URL is not an http or https address.
 */
export function createManageClient(options: ManageClientOptions): ManageClient {
  const { token, account } = options;
  const headersOf = () => {
    const accountId = account?.() ?? null;
    return {
      accept: "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(accountId === null ? {} : { [ACCOUNT_HEADER]: accountId }),
      ...options.headers,
    };
  };
  const { call, ask, send } = connect<ManageShapes>(options, { entries: MANAGE_ENDPOINTS, headersOf });
  return { call, request: send, send: ask };
}

export { randomKey } from "./random-key.ts";
export { PromptdConnectionError, PromptdError, PromptdProtocolError } from "./errors.ts";
export type { WebhookEvent } from "@promptd/contract/manage";
