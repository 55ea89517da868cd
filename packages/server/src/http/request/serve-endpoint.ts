import type { EndpointName, EndpointShapes } from "@promptd/contract";
import { endpointSchemas } from "@promptd/contract/schemas";
import { admit, type AdmitSetup } from "./admit.ts";
import type { BodyBudget } from "../body/body-budget.ts";
import type { Answer, Endpoint, EndpointInput } from "../endpoint.ts";
import { successText } from "../answer/envelope.ts";
import type { Exchange } from "./exchange.ts";
import { parseJsonBody } from "../body/json-body.ts";
import { parseQuery, rawQuery } from "./query.ts";
import { declaredBytes, readBody, refuseBodyForm, refuseTooLarge } from "../body/read-body.ts";
import { refuseIdempotencyKeys, validateInput, type CheckImages } from "./validate.ts";

export interface EndpointSetup extends AdmitSetup {
  readonly checkImages: CheckImages | null;
  readonly checkResponses: boolean;
  readonly runBodyBytesMax: number;
  readonly bodyBytesMax: number;
  readonly bodyBudget: BodyBudget;
}

/** A route's pattern and parameters, found by the router. */
export interface Match<N extends EndpointName> {
  readonly name: N;
  readonly handle: Endpoint<N>;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * One request of /v1: 401, 429, 402, then 400 of the body, then 422 of the shape, then the slice. A chain and not an
 * async function: its frame would keep a body of up to 32 MiB alive for the two minutes that an answer may take.
 */
export function serveEndpoint<N extends EndpointName>(
  exchange: Exchange,
  match: Match<N>,
  setup: EndpointSetup,
): Promise<void> {
  return receiveInput(exchange, match, setup)
    .then((input) => match.handle(input, exchange))
    .then((answer) => sendAnswer(exchange, match.name, answer, setup.checkResponses))
    .finally(() => exchange.releaseBody());
}

async function receiveInput<N extends EndpointName>(
  exchange: Exchange,
  match: Match<N>,
  setup: EndpointSetup,
): Promise<EndpointInput<N>> {
  await admit(exchange, setup);
  const body = await receiveBody(exchange, match.name, setup);
  if (match.name === "createRun") refuseIdempotencyKeys(exchange.headerValues("idempotency-key"));
  const query = parseQuery(rawQuery(exchange.request.url ?? ""));
  const raw = { params: match.params, query, body };
  const ignore = (part: string) => exchange.ignore(part);
  const input = validateInput(match.name, raw, { checkImages: setup.checkImages, ignore });
  exchange.runId = match.params["runId"] ?? null;
  return input;
}

async function receiveBody(exchange: Exchange, name: EndpointName, setup: EndpointSetup): Promise<unknown> {
  const { request, response } = exchange;
  const isRead = endpointSchemas[name].body !== null;
  if (exchange.bodyIsRead) return isRead ? {} : undefined;
  const bytesMax = name === "createRun" ? setup.runBodyBytesMax : setup.bodyBytesMax;
  if (isRead) refuseBodyForm(request);
  refuseTooLarge(request, bytesMax);
  const hold = isRead ? setup.bodyBudget.hold(exchange.caller.accountId) : null;
  exchange.bodyHold = hold;
  await hold?.waitFor(declaredBytes(request) ?? 0); // all of it before the first byte: what was begun can be received whole
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    response.writeContinue();
  }
  const bytes = await readBody(request, bytesMax, hold?.reserve ?? null);
  exchange.bodyIsRead = true;
  return isRead ? parseJsonBody(bytes, exchange.header("content-type")) : undefined;
}

function sendAnswer<N extends EndpointName>(
  exchange: Exchange,
  name: N,
  answer: Answer<EndpointShapes[N]["data"]>,
  checkResponses: boolean,
): void {
  const { status = 200, data } = answer;
  if (checkResponses && status !== 304) endpointSchemas[name].data.parse(data);
  if (typeof data === "object" && data !== null && "runId" in data && typeof data.runId === "string") {
    exchange.runId = data.runId;
  }
  exchange.sendJson(status, successText(data), answer.headers);
}
