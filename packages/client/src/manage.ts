import { ACCOUNT_HEADER, MANAGE_ENDPOINTS, type ManageShapes } from "@promptd/contract/manage";
import type { Ask, CallEndpoint } from "./call-endpoint.ts";
import { connect, type ConnectOptions } from "./connect.ts";
import { checkSecret } from "./errors.ts";
import type { RawAnswer, RawRequest } from "./transport.ts";

export interface ManageClientOptions extends ConnectOptions {
  /** Such as `http://127.0.0.1:8787`, or `location.origin` in a page of the server. */
  readonly baseUrl: string;
  /** A management token. Default: the page's session cookie, which the browser sends on its own. */
  readonly token?: string | undefined;
  /**
   * Returns the account to act in, for each request; null: the personal account. Writes with a session require an
   * account.
   */
  readonly account?: (() => string | null) | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface ManageClient {
  /** Calls any endpoint of the management API with retries; returns the response's status and headers too. */
  readonly call: CallEndpoint<ManageShapes>;
  /** Calls an endpoint and returns the response's data. Parts that the endpoint does not have may be omitted. */
  readonly send: Ask<ManageShapes>;
  /** Sends one request as it is: no retries, and no status throws. */
  request(request: RawRequest): Promise<RawAnswer>;
}

/**
 * Creates a client of the management API for any JavaScript runtime.
 * @throws TypeError if the base URL is not an http or https URL.
 */
export function createManageClient(options: ManageClientOptions): ManageClient {
  const { token, account } = options;
  if (token !== undefined) checkSecret("token", token);
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
/** What the endpoints accept and return, so that a program can name it. */
export type * from "@promptd/contract/manage";
