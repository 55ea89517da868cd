/**
 * One request and its answer: what each step has found out, the headers collected on the way, and the only code that
 * writes an answer. Slices see only its RequestContext part.
 */
import type { EndpointSchemas } from "@promptd/contract/schemas";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import type { Log } from "../../platform/log.ts";
import { createHistogram } from "../../platform/metrics/metrics.ts";
import { Problem } from "../../platform/problem.ts";
import type { BodyReservation } from "../body/body-budget.ts";
import type {
  Admission,
  Answer,
  Caller,
  Endpoint,
  EndpointInput,
  RatePolicy,
  StreamAnswer,
  ServerContext,
  TextAnswer,
} from "../endpoint.ts";
import { checkErrorEnvelope, errorText, internalError, problemHeaders } from "../response/envelope.ts";
import { CallerGone, hasBody } from "../body/read-body.ts";
import type { UnreadAnswers } from "../response/unread-answers.ts";
import { corsHeaders, ignoredHeader, isOutdatedAgent, type Headers } from "../response/response-headers.ts";
import { callerAddress } from "./caller-address.ts";
import { headerValues } from "./parse-head.ts";
import { isOpenToPages, type Route } from "./router.ts";

/** What all exchanges of a server have in common. */
export interface ExchangeSetup {
  readonly log: Log;
  readonly newId: () => string;
  readonly resourcesHash: () => string;
  /** `["*"]`, or the origins whose pages may call the API. */
  readonly corsOrigins: readonly string[];
  readonly rate: RatePolicy;
  /** For tests: every answer is checked against the contract's schemas, and a violation becomes a 500. */
  readonly checkResponses: boolean;
  /** How many proxies are in front of the server. Each one appends to X-Forwarded-For. */
  readonly proxies: number;
  readonly slowReaderMs: number;
  readonly unreadAnswers: UnreadAnswers;
  readonly lingerMs: number;
  /** True for the last request of a connection while the server is stopping: its answer closes the connection. */
  readonly isLastAnswer: (exchange: Exchange) => boolean;
}

/** Methods beyond the router's share one label value, so that callers cannot invent series. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const requests = createHistogram(
  {
    name: "promptd_http_request_duration_seconds",
    help: 'Requests to this process, from the headers to the end of the response. The route is "-" if no endpoint matches; the status is "none" if the caller hung up first.',
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
  },
  ["method", "route", "status"],
);

const CLIENT_REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
const IGNORED_NAMES_MAX = 100;

/** Shared by all requests, most of which have no unknown parts. */
const NONE: readonly string[] = [];
/** Statuses without a body, and so without Content-Type and Content-Length. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

export class Exchange implements ServerContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly arrivedAtMs: number;
  /** Null until it is found, and if no endpoint matches the path. */
  route: Route | null = null;
  /** The route's schemas; null: nothing is checked. */
  schemas: EndpointSchemas | null = null;
  /** Null until the request is authenticated, and where no credential is required. */
  admission: Admission | null = null;
  /** Parsed JSON; an absent body counts as an empty object. */
  body: unknown = {};
  input: EndpointInput | null = null;
  answer: Answer<unknown> | TextAnswer | StreamAnswer | null = null;
  /** The first few parts of the query and the body that the endpoint does not know. */
  unlisted: readonly string[] = NONE;
  /** For the log. */
  runId: string | null = null;
  /** True when the body was read to its end, or there is none. */
  bodyIsRead: boolean;
  /** The body's share of the memory for bodies; null: it has none. */
  bodyReservation: BodyReservation | null = null;
  /** True: the caller waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean;
  /** Its answer closes the connection, so requests behind it get none. Known at the latest when it is answered. */
  closesConnection = false;
  readonly #setup: ExchangeSetup;
  #ignored: string[] | null = null;
  #onGone: (() => void) | null = null;
  #onEnd: (() => void) | null = null;
  #isDone = false;

  constructor(setup: ExchangeSetup, request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean) {
    this.#setup = setup;
    this.request = request;
    this.response = response;
    this.awaitsContinue = awaitsContinue;
    this.arrivedAtMs = performance.now();
    this.requestId = setup.newId();
    this.bodyIsRead = !hasBody(request);
  }

  get endpoint(): Endpoint {
    if (this.route === null) throw new Error("No endpoint has been found for the request.");
    return this.route.endpoint;
  }

  /** True: the request leaves a row in the audit log, however it ends. */
  get isAudited(): boolean {
    return this.route?.endpoint.isAudited === true && !this.isAnswered;
  }

  get params(): Route["params"] {
    return this.route?.params ?? {};
  }

  get caller(): Caller {
    if (this.admission?.kind !== "admitted") throw new Error("The request has not been admitted.");
    return this.admission.caller;
  }

  /** Whom the memory of body and answer counts for: the account, or the address of a caller without a credential. */
  get memoryOwner(): string {
    return this.admission?.kind === "admitted" ? this.admission.caller.accountId : this.address;
  }

  get address(): string {
    const peer = this.request.socket.remoteAddress ?? "";
    return callerAddress(peer, this.headerValues("x-forwarded-for"), this.#setup.proxies);
  }

  header(name: string): string | null {
    const value = this.request.headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  }

  headerValues(name: string): string[] {
    return headerValues(this.request.rawHeaders, name);
  }

  ignore(name: string): void {
    this.#ignored ??= [];
    if (this.#ignored.length < IGNORED_NAMES_MAX) this.#ignored.push(name);
  }

  nameRun(runId: string): void {
    this.runId = runId;
  }

  afterEarlierAnswers(): Promise<void> {
    return new Promise((resolve) => {
      if (this.response.socket !== null) resolve();
      else this.response.once("socket", () => resolve());
    });
  }

  releaseBody(): void {
    this.bodyReservation?.release();
    this.bodyReservation = null;
  }

  onGone(listener: () => void): void {
    if (this.#isDone && !this.response.writableFinished) listener();
    else this.#onGone = listener;
  }

  /** Calls the listener when the answer or the connection has ended, at once if it already has. */
  onEnd(listener: () => void): void {
    if (this.#isDone) listener();
    else this.#onEnd = listener;
  }

  get isAnswered(): boolean {
    return this.response.headersSent;
  }

  /** True when an answer has begun or the caller has gone: nothing more may be written. */
  get isOver(): boolean {
    return this.#isDone || this.response.headersSent || this.response.destroyed;
  }

  /**
   * Answers with a JSON text, or its compressed bytes; `headers`, in upper or lower case, override the usual ones.
   * Never throws: an invalid header becomes a 500.
   */
  sendJson(status: number, text: string | Buffer, headers: Readonly<Headers> = {}): void {
    if (this.isOver) return;
    const all = this.#commonHeaders();
    all["cache-control"] = "no-store";
    const carriesText = !BODILESS.has(status);
    if (carriesText) all["content-type"] = "application/json; charset=utf-8";
    for (const name in headers) all[name.toLowerCase()] = headers[name] ?? "";
    const bytes = carriesText ? Buffer.byteLength(text) : 0;
    if (carriesText) all["content-length"] = String(bytes);
    try {
      this.response.writeHead(status, all);
    } catch (error) {
      this.#sendBrokenAnswer(error);
      return;
    }
    this.#finish(carriesText ? text : "");
    this.#watchAnswer(bytes);
  }

  #sendBrokenAnswer(error: unknown): void {
    const { log } = this.#setup;
    log.error({ err: error, requestId: this.requestId, route: this.#pattern }, "a response could not be sent");
    const problem = internalError(this.requestId);
    const headers = { ...this.#commonHeaders(), "content-type": "application/json; charset=utf-8" };
    this.response.writeHead(500, { ...headers, ...problemHeaders(problem) });
    this.#finish(errorText(problem));
  }

  /**
   * Answers with an error envelope. An error that is not a Problem is logged in full and becomes a bare SERVER_ERROR.
   */
  sendError(error: unknown): void {
    if (error instanceof CallerGone) {
      this.response.destroy();
      return;
    }
    const { log, checkResponses } = this.#setup;
    const problem = error instanceof Problem ? error : internalError(this.requestId);
    if (problem !== error || problem.code === "SERVER_ERROR") {
      log.error({ err: error, requestId: this.requestId, route: this.#pattern }, "a request failed");
    }
    const text = errorText(problem);
    try {
      if (checkResponses) checkErrorEnvelope(text);
    } catch (broken) {
      this.sendError(broken);
      return;
    }
    const headers = problemHeaders(problem);
    const challenge = this.route?.endpoint.challenge;
    if (problem.code === "UNAUTHORIZED_ERROR" && challenge !== undefined) headers["www-authenticate"] = challenge();
    this.sendJson(problem.httpStatus, text, headers);
  }

  sendStream(answer: StreamAnswer): void {
    if (this.isOver) {
      answer.body?.destroy();
      return;
    }
    const own = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
    this.response.writeHead(answer.status, { ...this.#commonHeaders(), ...Object.fromEntries(own) });
    if (answer.body === null || this.request.method === "HEAD") {
      answer.body?.destroy();
      this.response.end();
      return;
    }
    this.#watchReader();
    const onEnd = (error: Error | null | undefined) => {
      if (error) this.#setup.log.debug({ err: error, requestId: this.requestId }, "a response body was cut off");
    };
    // Files arrive in small pieces; an event or a line of results can be megabytes.
    if (this.admission === null) pipeline(answer.body, this.response, onEnd);
    else pipeline(answer.body, (body) => this.#countParts(body), this.response, onEnd);
  }

  async *#countParts(body: AsyncIterable<string | Buffer>): AsyncGenerator<string | Buffer, void, void> {
    for await (const part of body) {
      const release = this.#setup.unreadAnswers.add(this.memoryOwner, Buffer.byteLength(part));
      if (release === null) throw new Error("The account has too many unread responses.");
      try {
        yield part; // continues when the caller has read almost all of it
      } finally {
        release();
      }
    }
  }

  /**
   * Records that the connection or the answer has ended. May be called again; returns false if it had already ended.
   */
  end(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
    if (!this.response.writableFinished) this.#onGone?.();
    this.#onGone = null;
    this.#onEnd?.();
    this.#writeLog();
    return true;
  }

  /** The route's path pattern, for the log; never the address itself, which may contain secrets. */
  get #pattern(): string {
    return this.route?.endpoint.path ?? "-";
  }

  #commonHeaders(): Headers {
    const { corsOrigins, rate, resourcesHash, isLastAnswer } = this.#setup;
    const { headers } = this.request;
    const common = corsHeaders(isOpenToPages(this.request.url ?? "") ? corsOrigins : [], headers.origin);
    common["x-content-type-options"] = "nosniff";
    common["x-request-id"] = this.requestId;
    const remaining = this.admission?.remaining ?? null;
    if (remaining !== null) {
      const { scope, perSecond } = this.admission?.rate ?? rate;
      common["ratelimit-policy"] = `"${scope}";q=${perSecond};w=1`;
      common["ratelimit"] = `"${scope}";r=${remaining};t=1`;
      const agent = headers["cli-agent"];
      const isOutdated = isOutdatedAgent(Array.isArray(agent) ? agent[0] : agent, resourcesHash);
      if (isOutdated) common["action-require"] = "update-resources";
    }
    const ignored = this.#ignored === null ? null : ignoredHeader(this.#ignored);
    if (ignored !== null) common["x-ignored"] = ignored;
    this.closesConnection ||= !this.bodyIsRead || isLastAnswer(this);
    if (this.closesConnection) common["connection"] = "close";
    return common;
  }

  #finish(text: string | Buffer): void {
    const { response } = this;
    if (this.bodyIsRead || this.awaitsContinue) {
      response.end(text);
    } else {
      this.#lingerAfter(text);
    }
  }

  /** The kernel has taken small answers by now. For the rest, watches the reader until it has. */
  #watchAnswer(bytes: number): void {
    const { response } = this;
    const { unreadAnswers } = this.#setup;
    if (response.socket === null || response.socket.writableLength > 0) {
      const release = unreadAnswers.add(this.memoryOwner, bytes);
      if (release === null) response.destroy();
      else response.once("close", release);
    }
    if ((response.socket?.writableLength ?? 0) > 0) this.#watchReader();
  }

  /**
   * Sends the answer while the caller is still sending its body. Closing at once would reset the connection, and many
   * callers would lose the answer. So the server first discards what arrives for a short while.
   */
  #lingerAfter(text: string | Buffer): void {
    const { request, response } = this;
    if (this.request.method !== "HEAD") response.write(text);
    const close = () => {
      clearTimeout(timer);
      if (!response.writableEnded) response.end();
    };
    const timer = setTimeout(close, this.#setup.lingerMs);
    request.on("end", close).on("close", close).on("error", close);
    request.resume();
  }

  /**
   * Closes the connection when no byte of this answer gets through for `slowReaderMs`. Armed only while there are bytes
   * to send, because a plain idle timeout would end long waits. Node's own timer sees progress within one write.
   */
  #watchReader(): void {
    const { response } = this;
    const { slowReaderMs } = this.#setup;
    const arm = () => response.socket?.setTimeout(slowReaderMs);
    if (response.socket === null) response.once("socket", arm);
    else arm();
    response.once("finish", () => {
      // By now Node has set its keep-alive timeout, unless another answer is waiting on this connection.
      const { socket } = this.request;
      if (socket.timeout === slowReaderMs) socket.setTimeout(0);
    });
  }

  #writeLog(): void {
    const { headersSent, statusCode, writableFinished } = this.response;
    const { method = "" } = this.request;
    const route = this.#pattern;
    const durationMs = performance.now() - this.arrivedAtMs;
    const status = headersSent ? String(statusCode) : "none";
    requests.observe([METHODS.has(method) ? method : "other", route, status], durationMs / 1_000);
    const fields: Record<string, unknown> = { requestId: this.requestId, method, route };
    // Null: the caller hung up before there was an answer.
    fields["status"] = headersSent ? statusCode : null;
    if (!writableFinished) fields["cut"] = true;
    fields["durationMs"] = Math.round(durationMs);
    const { accountId, keyId = null } = this.admission?.caller ?? {};
    if (accountId !== undefined) fields["accountId"] = accountId;
    if (keyId !== null) fields["keyId"] = keyId;
    if (this.runId !== null) fields["runId"] = this.runId;
    const given = this.header("x-request-id");
    if (given !== null && CLIENT_REQUEST_ID.test(given)) fields["clientRequestId"] = given;
    this.#setup.log[this.route?.endpoint.isPolled === true ? "debug" : "info"](fields, "request");
  }
}
