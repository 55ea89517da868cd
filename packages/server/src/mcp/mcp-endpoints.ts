/**
 * /mcp: the server's prompts as tools, over streamable HTTP, without sessions that a process would have to remember. A
 * tool calls /v1 with the caller's own key, so the key, rate limit, and plan apply as for every other request. After
 * admission, statuses and bodies follow the protocol.
 */
import { Readable } from "node:stream";
import {
  ownEndpoint,
  type Endpoint,
  type ServerContext,
  type StreamAnswer,
  type TextAnswer,
} from "../http/endpoint.ts";
import { parseJsonBody } from "../http/body/json-body.ts";
import type { Database } from "../platform/database/database.ts";
import { badRequest } from "../platform/problem.ts";
import { pollUntil } from "../platform/resilience/deadline.ts";
import { loadOnce } from "../platform/resilience/load-once.ts";
import { VERSION } from "../platform/version.ts";
import { findRunByIdempotencyKey } from "../runs/index.ts";
import { callKeyOf, clientOf, SESSION_HEADER, toHttpCall, type CallSetup } from "./mcp-call.ts";
import { challengeOf, MCP_PATH, metadataEndpoints } from "./resource-metadata.ts";

export interface McpOptions extends CallSetup {
  readonly newId: () => string;
  /** Origins, besides the server's own, whose pages may call /mcp; `*` is not supported. */
  readonly origins: readonly string[];
  readonly db: Database;
}

/** Images are sent as Base64, as in a body of POST /v1/runs. */
const BODY_BYTES_MAX = 32 * 1024 * 1024;
/** A call may be canceled before its run is created. */
const CANCEL_POLL = { everyMs: 100, timeoutMs: 3_000 };

export function mcpEndpoints(options: McpOptions): Endpoint[] {
  const { log, publicUrl } = options;
  const onError = (err: Error) => log.debug({ err }, "an MCP message was refused");
  // The SDK is loaded with the first message, so that startup does not wait for it.
  const openMcp = loadOnce(async () => (await import("@promptd/mcp")).createHttpMcp({ version: VERSION, onError }));

  async function handle(body: unknown, context: ServerContext): Promise<TextAnswer | StreamAnswer> {
    if (!isAllowedOrigin(context.header("origin"), options)) return REFUSED_ORIGIN;
    const message = context.request.method === "POST" ? await readMessage(body, context) : undefined;
    const cancelled = cancelledRequest(message);
    if (cancelled !== null) void cancelRun(cancelled, context, options);
    const gone = new AbortController();
    context.onGone(() => gone.abort(new Error("The caller disconnected.")));
    const request = toRequest(context, publicUrl(), gone.signal);
    const response = await (await openMcp()).answer(request, message, toHttpCall(context, gone.signal, options));
    return toAnswer(response, isInitialize(message) ? sessionHeaders(options.newId()) : {});
  }

  const endpoint = ownEndpoint({
    method: ["POST", "GET", "DELETE"],
    path: MCP_PATH,
    auth: "apiKey",
    waitsForRate: true,
    challenge: () => challengeOf(publicUrl()),
    bodyBytesMax: BODY_BYTES_MAX,
    takesBytes: true,
    handle: ({ body }, context) => handle(body, context),
  });
  return [endpoint, ...metadataEndpoints(publicUrl)];
}

/**
 * A page that reached the server through its own host name (DNS rebinding) must not act for the person who opened it.
 */
function isAllowedOrigin(origin: string | null, { origins, publicUrl }: McpOptions): boolean {
  return origin === null || origin === new URL(publicUrl()).origin || origins.includes(origin);
}

const REFUSED_ORIGIN: TextAnswer = {
  status: 403,
  text: JSON.stringify({
    jsonrpc: "2.0",
    error: {
      code: -32000,
      message: "Pages from this origin may not call /mcp. To allow them, add the origin to PROMPTD_CORS_ORIGINS.",
    },
    id: null,
  }),
};

function readMessage(body: unknown, context: ServerContext): Promise<unknown> {
  if (!(body instanceof Buffer) || body.length === 0) throw badRequest("Send one JSON-RPC message as the body.");
  return parseJsonBody(body, context.header("content-type"));
}

interface Message {
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

function isInitialize(message: unknown): boolean {
  return typeof message === "object" && message !== null && (message as Message).method === "initialize";
}

/** Hosts that run in a page must be able to read the session's name. */
function sessionHeaders(session: string): Record<string, string> {
  return { [SESSION_HEADER]: session, "access-control-expose-headers": "Mcp-Session-Id" };
}

/** The request that a client's notification cancels; null: it is not a cancellation. */
function cancelledRequest(message: unknown): string | number | null {
  if (typeof message !== "object" || message === null) return null;
  const { method, params } = message as Message;
  const requestId = method === "notifications/cancelled" ? params?.requestId : null;
  return typeof requestId === "string" || typeof requestId === "number" ? requestId : null;
}

/** The process that waits for the run learns of its end in the usual way. */
async function cancelRun(requestId: string | number, context: ServerContext, options: McpOptions): Promise<void> {
  const { accountId } = context.caller;
  try {
    const key = callKeyOf(context, requestId);
    if (key === null) return;
    const runId = await pollUntil(() => findRunByIdempotencyKey(options.db, accountId, key), CANCEL_POLL);
    if (runId !== null) await clientOf(context, options).runs.cancel(runId);
  } catch (error) {
    options.log.warn({ err: error, accountId }, "a run could not be canceled together with its call");
  }
}

function toRequest(context: ServerContext, publicUrl: string, signal: AbortSignal): Request {
  const { method = "GET", url = "" } = context.request;
  const headers = new Headers();
  for (const [name, value] of Object.entries(context.request.headers)) {
    if (PASSED_HEADERS.test(name) && typeof value === "string") headers.set(name, value);
  }
  return new Request(new URL(url, publicUrl), { method, headers, signal, ...(method === "POST" ? { body: "" } : {}) });
}

const PASSED_HEADERS = /^(accept|content-type|last-event-id|mcp-.*)$/;

async function toAnswer(
  response: Response,
  more: Readonly<Record<string, string>>,
): Promise<TextAnswer | StreamAnswer> {
  const headers = { ...Object.fromEntries(response.headers), ...more };
  const isStream = response.status === 200 && response.headers.get("content-type")?.startsWith("text/event-stream");
  if (isStream !== true || response.body === null) {
    return { status: response.status, text: await response.text(), headers };
  }
  return { status: 200, headers, body: Readable.fromWeb(response.body) };
}
