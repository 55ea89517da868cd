import type { EndpointEntry } from "@promptd/contract";
import { successText } from "./response/envelope.ts";
import { serverBusy } from "./body/body-budget.ts";
import { ownEndpoint, type Endpoint, type OpenFile, type Readiness } from "./endpoint.ts";
import { rawQuery } from "./request/query.ts";

export interface UnauthenticatedEndpointsOptions {
  readonly openFile: OpenFile;
  /** Under which callers reach the server; known for certain once it listens. */
  readonly publicUrl: () => string;
  readonly readiness: () => Promise<Readiness>;
  readonly isStopping: () => boolean;
  /** True while the process has more open requests than it should. */
  readonly isBusy: () => boolean;
}

/** The endpoints that need no credential. They read no body. */
export function unauthenticatedEndpoints(options: UnauthenticatedEndpointsOptions): Endpoint[] {
  const openApi = perUrl((url) => describe("CALLERS_API", url));
  const manageOpenApi = perUrl((url) => describe("MANAGE_API", url));
  const readiness = joinCalls(options.readiness);
  return [
    // Says nothing about the database.
    open("/healthz", async () => ({ data: { healthy: true } })),
    open("/readyz", async () => answerReadiness(await readiness(), options.isStopping())),
    open("/openapi.json", async () => ({ status: 200, text: await openApi(options.publicUrl()) })),
    open("/manage/openapi.json", async () => ({ status: 200, text: await manageOpenApi(options.publicUrl()) })),
    open("/files/:name", async ({ params }, context) => {
      if (options.isBusy()) throw serverBusy();
      await context.afterEarlierAnswers(); // a file stays open only for the request that is answered next
      const { method, url = "" } = context.request;
      const { name = "" } = params as Readonly<Record<string, string>>;
      return options.openFile({
        method: method === "HEAD" ? "HEAD" : "GET",
        name: name.slice(0, 255),
        query: new URLSearchParams(rawQuery(url)),
        range: context.header("range"),
        ifRange: context.header("if-range"),
        ifNoneMatch: context.header("if-none-match"),
      });
    }),
  ];
}

function open(path: EndpointEntry["path"], handle: Endpoint["handle"]): Endpoint {
  return ownEndpoint({ method: "GET", path, handle });
}

/**
 * Whether a load balancer should send requests here. Not ready is a 500: no 503 ever leaves the server. The details
 * stand in `data`, which other 500s leave null, so that an operator sees at once what is missing.
 */
function answerReadiness({ ready, details }: Readiness, isStopping: boolean) {
  if (ready && !isStopping) return { status: 200, text: successText({ ready: true, ...details }) };
  const message = isStopping ? "The server is stopping." : "The server is not ready.";
  const text = JSON.stringify({ status: "SERVER_ERROR", message, data: { ready: false, ...details } });
  return { status: 500, text, headers: { "x-should-retry": "true" } };
}

/** One call at a time: however many ask, the database is asked once, and all who ask meanwhile share its answer. */
function joinCalls<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | null = null;
  return () => {
    current ??= call().finally(() => (current = null));
    return current;
  };
}

/** Loads the examples and schemas of all endpoints, for which a server is rarely asked. */
async function describe(api: "CALLERS_API" | "MANAGE_API", publicUrl: string): Promise<string> {
  const [described, { openApiText }] = await Promise.all([import("./described-apis.ts"), import("./openapi.ts")]);
  return openApiText(publicUrl, described[api]);
}

/** Makes a text again only when the URL has changed, or when it could not be made. */
export function perUrl(make: (url: string) => Promise<string>): (url: string) => Promise<string> {
  let last: { readonly url: string; readonly text: string } | null = null;
  return async (url) => {
    const made = last?.url === url ? last : { url, text: await make(url) };
    last = made;
    return made.text;
  };
}
