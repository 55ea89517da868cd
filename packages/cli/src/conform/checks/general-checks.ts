import { ERRORS, type ErrorCode } from "@promptd/contract";
import { setTimeout as wait } from "node:timers/promises";
import { Mismatch, Skipped, type Exchange, type Group } from "../check.ts";
import { expectData, expectError, expectSuccess, expectThat, isObject } from "../expect.ts";
import type { ConformContext } from "../context.ts";
import { refusalChecks } from "./table.ts";

const paths: Group<ConformContext> = {
  title: "Addresses",
  checks: [
    ...refusalChecks("Endpoints", [
      { name: "an unknown path under /v1 returns 404", path: "/v1/no-such-thing", codes: ["NOT_FOUND_ERROR"] },
      { name: "an unknown path below an endpoint returns 404", path: "/v1/me/no", codes: ["NOT_FOUND_ERROR"] },
    ]),
    {
      name: "an unknown API version is an error",
      section: "Versioning",
      run: async (context) => {
        const exchange = await context.send("/v2/me");
        expectThat(exchange.response.httpStatus >= 400, "an error", exchange);
      },
    },
  ],
};

/** Enough requests above the limit that some are rejected even if sending them takes a few seconds. */
const burstSize = (rate: number): number => 3 * rate + 30;
const BURST_RATE_MAX = 100;

/** All burst checks share one burst. */
const bursts = new WeakMap<ConformContext, Promise<Exchange[]>>();

function burstOf(context: ConformContext): Promise<Exchange[]> {
  if (context.rate > BURST_RATE_MAX) {
    throw new Skipped(`Bursts above ${BURST_RATE_MAX} requests per second are not sent.`);
  }
  const sent = bursts.get(context) ?? context.burst("/v1/me", burstSize(context.rate));
  bursts.set(context, sent);
  return sent;
}

async function refusedOf(context: ConformContext): Promise<Exchange> {
  const exchanges = await burstOf(context);
  const refused = exchanges.find(({ response }) => response.httpStatus === 429);
  if (refused !== undefined) return refused;
  const burst = `${exchanges.length} requests at once`;
  throw new Mismatch(`429 for some of ${burst}; if the server has another limit, set it with --rate`, null);
}

const limits: Group<ConformContext> = {
  title: "Rate limit",
  checks: [
    {
      name: "requests above the limit return 429",
      section: "Limits, request rate",
      run: async (context) => void expectError(await refusedOf(context), "TOO_MANY_REQUESTS_ERROR"),
    },
    {
      name: "a 429 says in Retry-After how long to wait",
      section: "Errors",
      run: async (context) => {
        const refused = await refusedOf(context);
        const value = refused.response.headers.get("retry-after") ?? "";
        const isTime = /^\d+$/.test(value) || !Number.isNaN(Date.parse(value));
        expectThat(isTime, "Retry-After with seconds or a date", refused);
      },
    },
    {
      name: "some requests of a burst are admitted",
      section: "Limits, request rate",
      run: async (context) => {
        const admitted = (await burstOf(context)).filter(({ response }) => response.httpStatus === 200);
        expectThat(admitted.length > 0, "200 for those within the limit", admitted[0] ?? null);
      },
    },
    {
      name: "after Retry-After, the next request is admitted",
      section: "Errors, retry rules",
      run: async (context) => {
        const seconds = Number((await refusedOf(context)).response.headers.get("retry-after"));
        await wait((Number.isFinite(seconds) ? Math.min(seconds, 60) : 1) * 1_000);
        expectSuccess(await context.send("/v1/me"));
      },
    },
  ],
};

/** Applies a rule to every response of all checks. */
function everyAnswer(context: ConformContext, expected: string, isTrue: (exchange: Exchange) => boolean): void {
  const broken = context.seen.find((exchange) => !isTrue(exchange));
  if (broken !== undefined) throw new Mismatch(expected, broken);
}

const CODES: ReadonlyMap<string, number> = new Map(
  (Object.keys(ERRORS) as ErrorCode[]).map((code) => [code, ERRORS[code].httpStatus]),
);

const isEnvelope = ({ response }: Exchange): boolean =>
  isObject(response.json) && typeof response.json["status"] === "string";
const statusOf = ({ response }: Exchange): string => (isObject(response.json) ? String(response.json["status"]) : "");
const isError = (exchange: Exchange): boolean => statusOf(exchange) !== "SUCCESS";
/** The API is only what is under /v1. A 304 belongs to an extension. */
const isOfInterface = ({ request, response }: Exchange): boolean =>
  request.path.startsWith("/v1/") && response.httpStatus !== 304;

const answers: Group<ConformContext> = {
  title: "Every response",
  checks: [
    {
      name: "is a JSON object",
      section: "Standard envelope",
      run: (context) =>
        everyAnswer(
          context,
          "a JSON object",
          (exchange) => !isOfInterface(exchange) || isObject(exchange.response.json),
        ),
    },
    {
      name: "says in Content-Type that it is JSON",
      section: "Standard envelope",
      run: (context) =>
        everyAnswer(
          context,
          "Content-Type: application/json",
          (exchange) =>
            !isOfInterface(exchange) ||
            /^application\/json\b/i.test(exchange.response.headers.get("content-type") ?? ""),
        ),
    },
    {
      name: "has a status that is SUCCESS or one of the error codes",
      section: "Errors",
      run: (context) =>
        everyAnswer(
          context,
          `SUCCESS, ${[...CODES.keys()].join(", ")}`,
          (exchange) =>
            !isOfInterface(exchange) || (isEnvelope(exchange) && (!isError(exchange) || CODES.has(statusOf(exchange)))),
        ),
    },
    {
      name: "has the HTTP status of its code",
      section: "Errors",
      run: (context) =>
        everyAnswer(context, "the HTTP status from the table of errors", (exchange) => {
          const code = statusOf(exchange);
          return !CODES.has(code) || CODES.get(code) === exchange.response.httpStatus;
        }),
    },
    {
      name: "has the member data",
      section: "Standard envelope",
      run: (context) =>
        everyAnswer(
          context,
          "the member data, null if there is nothing",
          (exchange) =>
            !isOfInterface(exchange) || (isObject(exchange.response.json) && "data" in exchange.response.json),
        ),
    },
    {
      name: "has a message when it is an error",
      section: "Standard envelope",
      run: (context) =>
        everyAnswer(context, "a message that describes the failure", (exchange) => {
          const { json } = exchange.response;
          if (!isOfInterface(exchange) || !isObject(json) || !isError(exchange)) return true;
          return typeof json["message"] === "string" && json["message"] !== "";
        }),
    },
    {
      name: "is not a redirect",
      section: "Errors",
      run: (context) =>
        everyAnswer(
          context,
          "a status from the table of errors",
          (exchange) =>
            !isOfInterface(exchange) || exchange.response.httpStatus < 300 || exchange.response.httpStatus > 399,
        ),
    },
  ],
};

function needsExtensions(context: ConformContext): void {
  if (!context.extensions) throw new Skipped("This is an extension. Check it with --extensions.");
}

/** What promptd servers have beyond the specification. */
const extensions: Group<ConformContext> = {
  title: "Extensions",
  checks: [
    {
      name: "a response has X-Request-Id",
      section: "extension",
      run: async (context) => {
        needsExtensions(context);
        const exchange = await context.answer("/v1/me");
        expectThat(exchange.response.headers.get("x-request-id") !== null, "the X-Request-Id header", exchange);
      },
    },
    {
      name: "a response says in RateLimit what is left",
      section: "extension",
      run: async (context) => {
        needsExtensions(context);
        const exchange = await context.answer("/v1/me");
        expectThat(exchange.response.headers.get("ratelimit") !== null, "the RateLimit header", exchange);
      },
    },
    {
      name: "the models are not sent again to a client that has them",
      section: "extension",
      run: async (context) => {
        needsExtensions(context);
        const { hash } = expectData(await context.answer("/v1/resources"));
        const exchange = await context.send("/v1/resources", { headers: { "if-none-match": `"${String(hash)}"` } });
        expectThat(exchange.response.httpStatus === 304, "HTTP 304 without a body", exchange);
      },
    },
    {
      name: "the same Idempotency-Key returns the same run, and Prefer: respond-async does not wait",
      section: "extension",
      run: async (context) => {
        needsExtensions(context);
        const { promptVersionId, inputs } = context.prompt();
        const headers = { "idempotency-key": crypto.randomUUID(), prefer: "respond-async" };
        const options = { body: { promptVersionId, inputs }, headers };
        const first = await context.send("/v1/runs", options);
        const second = await context.send("/v1/runs", options);
        const [one, other] = [first, second].map((exchange) => {
          const { json } = exchange.response;
          const data = isObject(json) && json["status"] === "SUCCESS" ? json["data"] : null;
          if (!isObject(data)) throw new Mismatch("a success with the run", exchange);
          return String(data["runId"]);
        });
        expectThat(one === other, `the runId ${one}`, second);
        expectSuccess(await context.send(`/v1/runs/${one}/cancel`, { method: "POST" }));
      },
    },
  ],
};

export const GENERAL_GROUPS: readonly Group<ConformContext>[] = [paths, extensions, limits, answers];
