import type { EndpointEntry } from "@promptd/contract";
import { Readable } from "node:stream";
import { shareCalls } from "../platform/resilience/share-calls.ts";
import { successText } from "./response/envelope.ts";
import { serverBusy } from "./body/body-budget.ts";
import { ownEndpoint, type Endpoint, type OpenFile, type Readiness, type StreamAnswer } from "./endpoint.ts";
import { rawQuery } from "./request/query.ts";

export interface UnauthenticatedEndpointsOptions {
  readonly openFile: OpenFile;
  /** The URL under which callers reach the server; known for certain once it listens. */
  readonly publicUrl: () => string;
  readonly readiness: () => Promise<Readiness>;
  readonly isStopping: () => boolean;
  /** True while the process has more open requests than it should. */
  readonly isBusy: () => boolean;
}

/** Returns the endpoints that need no credential. They read no body. */
export function unauthenticatedEndpoints(options: UnauthenticatedEndpointsOptions): Endpoint[] {
  const openApi = perUrl((url) => describe("CALLERS_API", url));
  const manageOpenApi = perUrl((url) => describe("MANAGE_API", url));
  const readiness = shareCalls(options.readiness); // so that the database is asked only once
  return [
    // Says nothing about the database.
    poll("/healthz", async () => ({ data: { healthy: true } })),
    poll("/readyz", async () => answerReadiness(await readiness(), options.isStopping())),
    open("/openapi.json", async () => answerDocument(await openApi(options.publicUrl()))),
    open("/manage/openapi.json", async () => answerDocument(await manageOpenApi(options.publicUrl()))),
    open("/files/:name", async ({ params }, context) => {
      if (options.isBusy()) throw serverBusy();
      await context.afterEarlierAnswers(); // open a file only for the request that is answered next
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

function poll(path: EndpointEntry["path"], handle: Endpoint["handle"]): Endpoint {
  return { ...open(path, handle), isPolled: true };
}

/**
 * Tells a load balancer whether to send requests here. "Not ready" is a 500, because the server never sends a 503.
 * Unlike in other 500s, `data` has details, so that an operator sees at once what is missing.
 */
function answerReadiness({ ready, details }: Readiness, isStopping: boolean) {
  if (ready && !isStopping) return { status: 200, text: successText({ ready: true, ...details }) };
  const message = isStopping ? "The server is stopping." : "The server is not ready.";
  const text = JSON.stringify({ status: "SERVER_ERROR", message, data: { ready: false, ...details } });
  return { status: 500, text, headers: { "x-should-retry": "true" } };
}

/** All readers share the same bytes: a text would be copied for each of them, until they have read it. */
function answerDocument(bytes: Buffer): StreamAnswer {
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "content-length": String(bytes.length),
    "cache-control": "no-store",
  };
  return { status: 200, headers, body: Readable.from([bytes]) };
}

/** Imports on demand, because it loads the examples and schemas of all endpoints and is rarely called. */
async function describe(api: "CALLERS_API" | "MANAGE_API", publicUrl: string): Promise<Buffer> {
  const [described, { openApiText }] = await Promise.all([import("./described-apis.ts"), import("./openapi.ts")]);
  return Buffer.from(openApiText(publicUrl, described[api]));
}

/** Caches what was made; makes it again only if the URL has changed or the last attempt failed. */
export function perUrl<Made>(make: (url: string) => Promise<Made>): (url: string) => Promise<Made> {
  let last: { readonly url: string; readonly made: Made } | null = null;
  return async (url) => {
    last = last?.url === url ? last : { url, made: await make(url) };
    return last.made;
  };
}
