/** One HTTP request to /mcp: what its messages work with, and what happens to a run when the caller disconnects. */
import { createClient, type Client } from "@promptd/client";
import type { HttpCall } from "@promptd/mcp";
import { readChoice, type PromptChoice } from "@promptd/mcp/describe";
import { createHash } from "node:crypto";
import type { ServerContext } from "../http/endpoint.ts";
import { rawQuery } from "../http/request/query.ts";
import type { Log } from "../platform/log.ts";
import { invalid } from "../platform/problem.ts";

export interface CallSetup {
  readonly log: Log;
  /** Where this process listens: tool calls take the same path as every other request. */
  readonly localUrl: () => string;
  /** What the addresses of generated files begin with. */
  readonly publicUrl: () => string;
  /** Aborts when the server stops: this ends every wait for a run, while the runs continue. */
  readonly stopping: AbortSignal;
}

export const SESSION_HEADER = "mcp-session-id";
const SESSION_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/**
 * From this revision on, a caller that closes its request wants no result; before it, the caller may only have lost the
 * connection.
 */
const CLOSE_IS_CANCEL_FROM = "2026";

/** @param gone aborts when the caller disconnects. */
export function toHttpCall(context: ServerContext, gone: AbortSignal, setup: CallSetup): HttpCall {
  const closeIsCancel = (context.header("mcp-protocol-version") ?? "") >= CLOSE_IS_CANCEL_FROM;
  const signal = AbortSignal.any([gone, setup.stopping]);
  return {
    source: {
      client: clientOf(context, setup),
      choice: choiceOf(context),
      // Files are read from where this process listens: the public address may lead through a proxy and back.
      fetchFile: (url, fileSignal) => fetch(localFile(url, setup), { signal: fileSignal }),
      readImageFile: null,
    },
    callOf: (requestId) => ({
      signal,
      cancelsRun: () => closeIsCancel && gone.aborted && !setup.stopping.aborted,
      callKey: callKeyOf(context, requestId),
    }),
  };
}

/** A client that uses the caller's own key. */
export function clientOf(context: ServerContext, { localUrl, log }: Pick<CallSetup, "localUrl" | "log">): Client {
  const apiKey = /^bearer +(\S+)/i.exec(context.header("authorization") ?? "")?.[1] ?? "";
  return createClient({
    baseUrl: localUrl(),
    apiKey,
    onWarning: (message) => log.warn({ requestId: context.requestId }, message),
  });
}

function localFile(url: string, { localUrl, publicUrl }: CallSetup): string {
  const prefix = `${publicUrl()}/files/`;
  return url.startsWith(prefix) ? `${localUrl()}/files/${url.slice(prefix.length)}` : url;
}

/** @throws Problem VALIDATION_ERROR for more prompts than may be tools. */
function choiceOf(context: ServerContext): PromptChoice {
  const query = new URLSearchParams(rawQuery(context.request.url ?? ""));
  try {
    return readChoice(query.get("prompts"), query.get("label"));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalid([{ path: ["query", "prompts"], code: "too_many", message: error.message }]);
  }
}

/**
 * The idempotency key of a call's run. A session is only a name that its client repeats: with it, a message that is
 * sent again joins its run, and any process finds the run to cancel. Null: the caller has no session.
 */
export function callKeyOf(context: ServerContext, requestId: string | number): string | null {
  const session = context.header(SESSION_HEADER) ?? "";
  if (!SESSION_FORM.test(session)) return null;
  // A client's numeric and text ids denote different messages, and a text may have any length and characters.
  const id =
    typeof requestId === "number" ? requestId : createHash("sha256").update(JSON.stringify(requestId)).digest("hex");
  return `mcp-${session}-${id}`;
}
