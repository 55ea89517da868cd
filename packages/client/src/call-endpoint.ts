import type { EndpointEntry, EndpointShapes } from "@promptd/contract";
import { PromptdError, refuse } from "./errors.ts";
import { createRetries, readRetryAfterMs, type RetryPolicy } from "./retry.ts";
import { protocolError, type RawAnswer, type RawRequest, type Send } from "./transport.ts";

/** The requests and responses of an API's endpoints, by name. */
export type Shapes<Name extends string = string> = Readonly<
  Record<
    Name,
    {
      readonly params: Readonly<Record<string, string>>;
      readonly query: Readonly<Record<string, string | number | undefined>>;
      readonly body: unknown;
      readonly data: unknown;
    }
  >
>;

/** An endpoint's request, with the options of this call. */
export interface EndpointCall<Shape extends Shapes[string]> {
  readonly params: Shape["params"];
  readonly query: Shape["query"];
  readonly body: Shape["body"];
  readonly headers?: Readonly<Record<string, string | null>> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /**
   * True: sending the request twice has the effect of sending it once, so it is retried even if the server may have
   * acted. Default: true, except for a POST without an idempotency key, which could create a duplicate.
   */
  readonly isRepeatable?: boolean;
  /** Retries for this many milliseconds, instead of the client's `maxRetries` times. */
  readonly retryForMs?: number | undefined;
}

export interface EndpointAnswer<Data> {
  readonly data: Data;
  readonly httpStatus: number;
  readonly headers: Headers;
}

/**
 * Calls an endpoint of the contract, with retries. Parts that the endpoint does not have may be omitted.
 * @throws PromptdError for an error envelope, PromptdConnectionError, PromptdProtocolError, or the signal's reason.
 */
export type CallEndpoint<All extends Shapes<keyof All & string> = EndpointShapes> = <N extends keyof All & string>(
  name: N,
  call?: Partial<EndpointCall<All[N]>>,
) => Promise<EndpointAnswer<All[N]["data"]>>;

/** The same, but returns only the response's data. */
export type Ask<All extends Shapes<keyof All & string> = EndpointShapes> = <N extends keyof All & string>(
  name: N,
  call?: Partial<EndpointCall<All[N]>>,
) => Promise<All[N]["data"]>;

/** @param entries the API's endpoints, by name. */
export function createCallEndpoint<All extends Shapes<keyof All & string>>(
  entries: Readonly<Record<keyof All & string, Pick<EndpointEntry, "method" | "path">>>,
  send: Send,
  policy: RetryPolicy,
): CallEndpoint<All> {
  return async <N extends keyof All & string>(name: N, call: Partial<EndpointCall<All[N]>> = {}) => {
    const request = requestOf(entries[name], call);
    const retries = createRetries(policy, { ...call, isRepeatable: call.isRepeatable ?? isSafeTwice(request) });
    for (;;) {
      try {
        const answer = retries.heard(await send(request));
        return {
          data: readData(answer, call.headers) as All[N]["data"],
          httpStatus: answer.httpStatus,
          headers: answer.headers,
        };
      } catch (error) {
        await retries.next(error);
      }
    }
  };
}

export function createAsk<All extends Shapes<keyof All & string>>(call: CallEndpoint<All>): Ask<All> {
  return async (name, given) => (await call(name, given)).data;
}

/** The request of a call; parts that the endpoint does not have may be absent. */
export function requestOf(
  { method, path }: Pick<EndpointEntry, "method" | "path">,
  call: Partial<EndpointCall<Shapes[string]>>,
): RawRequest {
  return { ...call, method, path: fillPath(path, call.params ?? {}) };
}

function isSafeTwice({ method, headers }: RawRequest): boolean {
  return method !== "POST" || hasHeader(headers, "idempotency-key");
}

function hasHeader(headers: RawRequest["headers"] = {}, wanted: string): boolean {
  return Object.entries(headers).some(([name, value]) => name.toLowerCase() === wanted && value !== null);
}

const NOT_MODIFIED = 304;

/**
 * @param sent the request's headers. If they allow a 304, the result of a 304 is null.
 * @throws PromptdError for an error envelope, PromptdProtocolError if the body is not an envelope.
 */
export function readData(answer: RawAnswer, sent?: RawRequest["headers"]): unknown {
  const { httpStatus, headers, envelope } = answer;
  if (httpStatus === NOT_MODIFIED && hasHeader(sent, "if-none-match")) return null;
  const isSuccess = httpStatus >= 200 && httpStatus < 300;
  if (envelope === null || (envelope.status === "SUCCESS") !== isSuccess) {
    const type = headers.get("content-type") ?? "no content type";
    throw protocolError(
      `The response is not from a promptd server (HTTP ${httpStatus}, ${type}). Check the base URL and any proxy in front of it.`,
      answer,
    );
  }
  const { data } = envelope;
  if (envelope.status === "SUCCESS") return data;
  throw new PromptdError(envelope.message, {
    code: envelope.status,
    httpStatus,
    data,
    requestId: headers.get("x-request-id"),
    retryAfterMs: readRetryAfterMs(headers),
  });
}

/** @throws TypeError for a value that would change the path to another endpoint: an empty id, "." or "..". */
function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/:([A-Za-z]+)/g, (_, name: string) => {
    const value = params[name] ?? "";
    if (/^\.{0,2}$/.test(value)) refuse(name, "an id or a name", value);
    return encodeURIComponent(value);
  });
}
