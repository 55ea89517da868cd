import type { EndpointEntry, EndpointShapes } from "@promptd/contract";
import type { Delay } from "./delay.ts";
import { PromptdError } from "./errors.ts";
import { chooseRetryPause, readRetryAfterMs } from "./retry.ts";
import { expectEnvelope, type RawAnswer, type RawRequest, type Send } from "./transport.ts";

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
  readonly headers?: Readonly<Record<string, string | null>>;
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

export interface CallPolicy {
  /** How often one call may be sent again. */
  readonly maxRetries: number;
  readonly delay: Delay;
  readonly random: () => number;
}

/**
 * Calls an endpoint of the contract, with retries.
 * @throws PromptdError for an error envelope, PromptdConnectionError, PromptdProtocolError, or the signal's reason.
 */
export type CallEndpoint<All extends Shapes<keyof All & string> = EndpointShapes> = <N extends keyof All & string>(
  name: N,
  call: EndpointCall<All[N]>,
) => Promise<EndpointAnswer<All[N]["data"]>>;

/** @param entries the endpoints of the API that is called, by name. */
export function createCallEndpoint<All extends Shapes<keyof All & string>>(
  entries: Readonly<Record<keyof All & string, Pick<EndpointEntry, "method" | "path">>>,
  send: Send,
  policy: CallPolicy,
): CallEndpoint<All> {
  return async <N extends keyof All & string>(name: N, call: EndpointCall<All[N]>) => {
    const request = requestOf(entries[name], call);
    const isRepeatable = call.isRepeatable ?? isSafeTwice(request);
    const startedMs = performance.now();
    let pausedMs = 0;
    for (let failedBefore = 0; ; failedBefore += 1) {
      const outcome = await attempt<All[N]["data"]>(send, request);
      if (outcome.kind === "answered") return outcome.answer;
      call.signal?.throwIfAborted();
      const { error, isForbidden } = outcome;
      const pause = chooseRetryPause({ error, isForbidden, isRepeatable, failedBefore, random: policy.random() });
      if (pause === null) throw error;
      pausedMs += pause;
      const spentMs = Math.max(pausedMs, performance.now() - startedMs);
      const isOver = call.retryForMs === undefined ? failedBefore >= policy.maxRetries : spentMs > call.retryForMs;
      if (isOver) throw error;
      await policy.delay(pause, call.signal);
    }
  };
}

export function requestOf(
  { method, path }: Pick<EndpointEntry, "method" | "path">,
  call: EndpointCall<Shapes[string]>,
): RawRequest {
  const { headers, signal, timeoutMs } = call;
  return {
    method,
    path: fillPath(path, call.params),
    query: call.query,
    body: call.body,
    signal,
    timeoutMs,
    ...(headers === undefined ? {} : { headers }),
  };
}

function isSafeTwice({ method, headers = {} }: RawRequest): boolean {
  if (method !== "POST") return true;
  return Object.entries(headers).some(([name, value]) => name.toLowerCase() === "idempotency-key" && value !== null);
}

type Outcome<Data> =
  | { readonly kind: "answered"; readonly answer: EndpointAnswer<Data> }
  | { readonly kind: "failed"; readonly error: unknown; readonly isForbidden: boolean };

async function attempt<Data>(send: Send, request: RawRequest): Promise<Outcome<Data>> {
  let answer: RawAnswer | null = null;
  try {
    answer = await send(request);
    const data = readData(answer) as Data;
    return { kind: "answered", answer: { data, httpStatus: answer.httpStatus, headers: answer.headers } };
  } catch (error) {
    return { kind: "failed", error, isForbidden: answer?.headers.get("x-should-retry") === "false" };
  }
}

const NOT_MODIFIED = 304;

/** @throws PromptdError for an error envelope, PromptdProtocolError for what is no envelope. */
export function readData(answer: RawAnswer): unknown {
  if (answer.httpStatus === NOT_MODIFIED) return null; // only where the call sent If-None-Match
  const envelope = expectEnvelope(answer);
  if (envelope.status === "SUCCESS") return envelope.data;
  throw new PromptdError(envelope.message, {
    code: envelope.status,
    httpStatus: answer.httpStatus,
    data: envelope.data,
    requestId: answer.headers.get("x-request-id"),
    retryAfterMs: readRetryAfterMs(answer.headers),
  });
}

/** @throws TypeError for a value that would address another endpoint: an empty id, or dots that climb. */
function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/:([A-Za-z]+)/g, (_, name: string) => {
    const value = params[name] ?? "";
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id, got "${value}".`);
    return encodeURIComponent(value);
  });
}
