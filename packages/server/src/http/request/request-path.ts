/** The path of every request: its steps in order. Each step may refuse the request by throwing a Problem. */
import { Readable } from "node:stream";
import type { Credential } from "@promptd/contract";
import { ACCOUNT_QUERY } from "@promptd/contract/manage";
import { memberOf } from "../../platform/json.ts";
import { Problem } from "../../platform/problem.ts";
import { hasManyItems, successPieces, successText } from "../response/envelope.ts";
import { compress } from "../response/compress.ts";
import { preflightHeaders, type Headers } from "../response/response-headers.ts";
import { answersUnread, serverBusy, tooManyOpen, type BodyBudget } from "../body/body-budget.ts";
import { parseJsonBody } from "../body/json-body.ts";
import { callerGone, declaredBytes, receiveBody, refuseBodyForm, refuseTooLarge } from "../body/read-body.ts";
import type {
  Admission,
  AdmissionRequest,
  Authenticators,
  EndpointInput,
  StreamAnswer,
  WriteAudit,
} from "../endpoint.ts";
import type { Exchange, ExchangeSetup } from "./exchange.ts";
import type { OwnerCounts } from "../owner-counts.ts";
import type { FailedAdmissions } from "./failed-admissions.ts";
import { asksToUpgrade, headFault, toOriginForm } from "./parse-head.ts";
import { parseQuery, rawQuery } from "./query.ts";
import type { RateWait } from "./rate-wait.ts";
import { audit } from "./audit.ts";
import { requireRights } from "./rights.ts";
import type { Router } from "./router.ts";
import { nameUnlistedIn, UNLISTED_NAMED_MAX, validateHeaders, validateInput } from "./validate.ts";

/** What the steps need in addition to the exchange. */
export interface PathSetup extends ExchangeSetup {
  readonly router: Router;
  readonly authenticators: Authenticators;
  readonly failedAdmissions: FailedAdmissions;
  readonly rateWait: RateWait;
  /** True while the process has more open requests than it should. */
  readonly isBusy: () => boolean;
  readonly bodyBudget: BodyBudget;
  readonly accountUnreadBytesMax: number;
  readonly totalUnreadBytesMax: number;
  /**
   * How many requests of each account this process has open. Streams and waits can stay open for as long as a run
   * takes, so without a share one account could fill the process, and others would get only refusals.
   */
  readonly openOfAccounts: OwnerCounts;
  readonly accountOpenMax: number;
  /** Null: no endpoint is audited. */
  readonly writeAudit: WriteAudit | null;
}

type Step = (exchange: Exchange, setup: PathSetup) => Promise<unknown> | void;

/** The specification sets the order. `authenticate` checks credential, rate, and plan in one SQL statement. */
const PATH = [
  parseHead, //    400
  findRoute, //         an unknown route is refused below, so that strangers do not learn what exists
  authenticate, // 401  with the credentials that the endpoint accepts
  limitRate, //    429
  requirePlan, //  402
  requireRoute, // 404
  readBody, //     400  up to the endpoint's size limit, within the memory for bodies
  validate, //     422  against the endpoint's schemas
  handle, //            the slice
  answer, //            envelope, headers, log line
] as const satisfies readonly Step[];

/** Serves a request; never rejects. Runs synchronously until a step waits. */
export async function serveRequest(exchange: Exchange, setup: PathSetup): Promise<void> {
  try {
    for (const step of PATH) {
      const pending = step(exchange, setup);
      if (pending !== undefined) await pending;
      if (exchange.isAnswered) return;
    }
  } catch (error) {
    const outcome = error instanceof Problem ? error.code : "SERVER_ERROR";
    if (exchange.isAudited) await audit(exchange, setup.writeAudit, outcome, null);
    if (error instanceof Problem) exchange.runId ??= runIdOf(error.data);
    exchange.sendError(nameUnlistedIn(error, exchange.unlisted));
  } finally {
    exchange.releaseBody();
  }
}

function parseHead(exchange: Exchange): void {
  const { request } = exchange;
  request.url = toOriginForm(request.url ?? "", request.method ?? "");
  const fault = headFault(request);
  exchange.closesConnection = fault !== null || asksToUpgrade(request);
  if (fault !== null) throw fault;
  if (request.method === "OPTIONS") exchange.sendJson(204, "", preflightHeaders());
}

function findRoute(exchange: Exchange, { router }: PathSetup): Promise<unknown> | void {
  const { method = "", url = "" } = exchange.request;
  exchange.route = router.find(method, url);
  const schemas = exchange.route?.endpoint.schemas?.() ?? null;
  if (schemas instanceof Promise) return schemas.then((loaded) => (exchange.schemas = loaded));
  exchange.schemas = schemas;
}

function authenticate(exchange: Exchange, setup: PathSetup): Promise<void> | void {
  const auth = exchange.route?.endpoint.auth ?? setup.router.authOfUnknown(exchange.request.url ?? "");
  if (auth !== "none") return admit(exchange, typeof auth === "string" ? [auth] : auth, setup);
}

/** Tries one kind of credential after the other until the request has one. */
async function admit(exchange: Exchange, kinds: readonly Credential[], setup: PathSetup): Promise<void> {
  const { address, request } = exchange;
  const shown: AdmissionRequest = {
    authorization: exchange.headerValues("authorization"),
    address,
    method: request.method ?? "",
    headers: (name) => exchange.headerValues(name),
    requestedAccount: accountOfQuery(exchange),
  };
  for (const kind of kinds) {
    const authenticator = setup.authenticators[kind];
    if (authenticator === undefined) throw new Error(`There is no authenticator for the credential ${kind}.`);
    const ask = () => authenticator(shown);
    const waits = exchange.route?.endpoint.waitsForRate === true;
    exchange.admission = await (waits ? setup.rateWait(ask, shown.authorization.join()) : ask());
    if (exchange.admission.kind === "admitted" || exchange.admission.isAbsent !== true) break;
  }
  if (!isRefusedWith(exchange.admission, "UNAUTHORIZED_ERROR")) {
    requireRights(exchange);
    return;
  }
  if (setup.failedAdmissions.note(address)) throwRefusal(exchange.admission);
  throw new Problem(
    "TOO_MANY_REQUESTS_ERROR",
    "Too many requests with an invalid credential. Wait 1 second, then retry.",
  );
}

/** Links and EventSource cannot set a header, so they name the account in the query. */
function accountOfQuery({ schemas, request }: Exchange): string | null {
  if (schemas?.query.shape[ACCOUNT_QUERY] === undefined) return null;
  return new URLSearchParams(rawQuery(request.url ?? "")).get(ACCOUNT_QUERY);
}

function limitRate(exchange: Exchange, setup: PathSetup): void {
  const { admission, memoryOwner } = exchange;
  const { openOfAccounts, accountOpenMax } = setup;
  if (isRefusedWith(admission, "TOO_MANY_REQUESTS_ERROR")) throwRefusal(admission);
  if (admission === null) return;
  if (setup.isBusy()) throw serverBusy();
  const excess = setup.unreadAnswers.excessOf(memoryOwner);
  if (excess !== null) throw answersUnread(excess, setup);
  if (openOfAccounts.of(memoryOwner) >= accountOpenMax) throw tooManyOpen();
  openOfAccounts.add(memoryOwner, 1);
  exchange.onEnd(() => openOfAccounts.add(memoryOwner, -1));
}

function requirePlan({ admission, route }: Exchange): void {
  throwRefusal(admission);
  const planProblem = admission?.kind === "admitted" ? (admission.planProblem ?? null) : null;
  if (planProblem !== null && route?.endpoint.needsPlan === true) throw planProblem;
}

function isRefusedWith(admission: Admission | null, code: Problem["code"]): boolean {
  return admission?.kind === "refused" && admission.problem.code === code;
}

function throwRefusal(admission: Admission | null): void {
  if (admission?.kind === "refused") throw admission.problem;
}

function requireRoute({ route, request }: Exchange, { router }: PathSetup): void {
  if (route === null) throw router.unrecognized(request.method ?? "", request.url ?? "");
}

function readBody(exchange: Exchange, setup: PathSetup): Promise<void> | void {
  const { schemas, endpoint, bodyIsRead } = exchange;
  if ((schemas !== null || endpoint.takesBytes === true) && !bodyIsRead) return receive(exchange, setup);
}

async function receive(exchange: Exchange, { bodyBudget }: PathSetup): Promise<void> {
  const { request, response, schemas } = exchange;
  const { bodyBytesMax, bodyMembersMax, takesBytes = false } = exchange.endpoint;
  const isUsed = takesBytes || (schemas?.body ?? null) !== null;
  if (isUsed) refuseBodyForm(request);
  refuseTooLarge(request, bodyBytesMax);
  // Before the first byte, so that a body can be received whole once it is begun.
  if (isUsed) await reserveMemory(exchange, bodyBudget);
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    response.writeContinue();
  }
  const bytes = await receiveBody(request, bodyBytesMax, exchange.bodyReservation?.grow ?? null);
  exchange.bodyIsRead = true;
  if (!isUsed) return;
  exchange.body = takesBytes ? bytes : await parseJsonBody(bytes, exchange.header("content-type"), bodyMembersMax);
}

async function reserveMemory(exchange: Exchange, bodyBudget: BodyBudget): Promise<void> {
  const waiting = new AbortController();
  exchange.onGone(() => waiting.abort(callerGone()));
  const bytes = declaredBytes(exchange.request) ?? 0;
  exchange.bodyReservation = await bodyBudget.reserve(exchange.memoryOwner, bytes, waiting.signal);
}

function validate(exchange: Exchange): void {
  const { endpoint, schemas, params, body } = exchange;
  exchange.body = undefined; // may be 32 MiB
  validateHeaders(endpoint, (name) => exchange.headerValues(name));
  const query = parseQuery(rawQuery(exchange.request.url ?? ""));
  exchange.input = validateInput(schemas, endpoint.checkBody, { params, query, body }, (part) => {
    exchange.ignore(part);
    if (exchange.unlisted.length < UNLISTED_NAMED_MAX) exchange.unlisted = [...exchange.unlisted, part];
  });
  exchange.runId = params["runId"] ?? null;
}

/** Not async: its frame would retain a body of up to 32 MiB for the two minutes that an answer may take. */
function handle(exchange: Exchange): Promise<unknown> {
  const { endpoint, input } = exchange;
  exchange.input = null;
  return endpoint.handle(input as EndpointInput, exchange).then((given) => (exchange.answer = given));
}

function answer(exchange: Exchange, setup: PathSetup): Promise<void> | void {
  const { answer: given } = exchange;
  if (!exchange.isAudited) return sendAnswer(exchange, setup);
  const data = given !== null && "data" in given ? given.data : null;
  return audit(exchange, setup.writeAudit, "SUCCESS", data).then(() => sendAnswer(exchange, setup));
}

function sendAnswer(exchange: Exchange, { checkResponses }: PathSetup): Promise<void> | void {
  const { schemas, answer: given } = exchange;
  exchange.answer = null;
  if (given === null) throw new Error("The handler returned no answer.");
  if ("body" in given) exchange.sendStream(given);
  else if ("text" in given) exchange.sendJson(given.status, given.text, given.headers);
  else {
    const { status = 200, data, headers } = given;
    if (checkResponses && status !== 304) schemas?.data.parse(data);
    exchange.runId = runIdOf(data) ?? exchange.runId;
    if (isForPages(exchange) && status === 200) return sendCompressed(exchange, successText(data), headers);
    if (status === 200 && headers === undefined && hasManyItems(data)) return exchange.sendStream(inPieces(data));
    exchange.sendJson(status, successText(data), headers);
  }
}

function inPieces(data: object): StreamAnswer {
  const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
  return { status: 200, headers, body: Readable.from(successPieces(data), { objectMode: false }) };
}

/** Whether a page reads it. Answers to writes may hold a secret next to text that others chose: never compress them. */
function isForPages({ endpoint, request }: Exchange): boolean {
  return request.method === "GET" && [endpoint.auth].flat().includes("session");
}

async function sendCompressed(exchange: Exchange, text: string, headers: Readonly<Headers> = {}): Promise<void> {
  const bytes = await compress(text, exchange.header("accept-encoding"));
  if (bytes === null) exchange.sendJson(200, text, headers);
  else exchange.sendJson(200, bytes, { ...headers, "content-encoding": "br", vary: "Origin, Accept-Encoding" });
}

/** For the log. */
function runIdOf(data: unknown): string | null {
  const runId = memberOf(data, "runId");
  return typeof runId === "string" ? runId : null;
}
