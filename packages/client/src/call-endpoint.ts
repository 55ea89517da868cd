import type { EndpointEntry, EndpointShapes } from "@promptd/contract";
import { PromptdError, refuse } from "./errors.ts";
import { createRetries, readRetryAfterMs, type RetryPolicy } from "./retry.ts";
import { protocolError, type RawAnswer, type RawRequest, type Send } from "./transport.ts";

/** What the endpoints of an API take and answer, by name. */
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

/** What an endpoint takes, with the options of this one call. */
export interface EndpointCall<Shape extends Shapes[string]> {
  readonly params: Shape["params"];
  readonly query: Shape["query"];
  readonly body: Shape["body"];
  readonly headers?: Readonly<Record<string, string | null>> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /**
   * True: sending it twice does what sending it once does, so it is sent again when nobody knows whether the server
   * acted. Absent: everything but a POST without an idempotency key, which could make a second thing nobody asked for.
   */
  readonly isRepeatable?: boolean;
  /** Sent again as often as these milliseconds allow, in place of the client's `maxRetries`. */
  readonly retryForMs?: number | undefined;
}

export interface EndpointAnswer<Data> {
  readonly data: Data;
  readonly httpStatus: number;
  readonly headers: Headers;
}

/**
 * Calls an endpoint of the contract, with retries.
 * @throws PromptdError for an error envelope, PromptdConnectionError, PromptdProtocolError, or the signal's reason.
 */
export type CallEndpoint<All extends Shapes<keyof All & string> = EndpointShapes> = <N extends keyof All & string>(
  name: N,
  call: EndpointCall<All[N]>,
) => Promise<EndpointAnswer<All[N]["data"]>>;

/** The same with the content of the answer alone; what an endpoint does not take may be left out. */
export type Ask<All extends Shapes<keyof All & string> = EndpointShapes> = <N extends keyof All & string>(
  name: N,
  call?: Partial<EndpointCall<All[N]>>,
) => Promise<All[N]["data"]>;

/** @param entries the endpoints of the API that is called, by name. */
export function createCallEndpoint<All extends Shapes<keyof All & string>>(
  entries: Readonly<Record<keyof All & string, Pick<EndpointEntry, "method" | "path">>>,
  send: Send,
  policy: RetryPolicy,
): CallEndpoint<All> {
  return async <N extends keyof All & string>(name: N, call: EndpointCall<All[N]>) => {
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
  return async (name, given) => (await call(name, { ...given } as never)).data;
}

/** The request of a call, in which what the endpoint does not take may be absent. */
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
 * @param sent the headers of the request, which may ask for a 304: that is null.
 * @throws PromptdError for an error envelope, PromptdProtocolError for what is not an envelope.
 */
export function readData(answer: RawAnswer, sent?: RawRequest["headers"]): unknown {
  const { httpStatus, headers, envelope } = answer;
  if (httpStatus === NOT_MODIFIED && hasHeader(sent, "if-none-match")) return null;
  const isSuccess = httpStatus >= 200 && httpStatus < 300;
  if (envelope === null || (envelope.status === "SUCCESS") !== isSuccess) {
    const type = headers.get("content-type") ?? "no content type";
    throw protocolError(
      `The answer is not one of a promptd server (HTTP ${httpStatus}, ${type}). Check the base URL and any proxy before it.`,
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

/** @throws TypeError for a value that would address another endpoint: an empty id, or dots that climb. */
function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/:([A-Za-z]+)/g, (_, name: string) => {
    const value = params[name] ?? "";
    if (/^\.{0,2}$/.test(value)) refuse(name, "an id or a name", value);
    return encodeURIComponent(value);
  });
}
