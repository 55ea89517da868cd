/** A server with only the http slice, endpoints that return fixed data, and clients that talk to its socket. */
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { ENDPOINTS, type EndpointEntry, type EndpointName, type Issue } from "@promptd/contract";
import { endpointSchemas, errorEnvelopeSchema } from "@promptd/contract/schemas";
import { onTestFinished } from "vitest";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../src/http/server.ts";
import {
  toEndpoints,
  type Admission,
  type AdmissionRequest,
  type Admit,
  type CheckBody,
  type Endpoint,
  type Handlers,
  type RequestContext,
} from "../../src/http/endpoint.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import type { Log } from "../../src/platform/log.ts";
import { Problem } from "../../src/platform/problem.ts";

export const ID = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a";
export const HASH = "ebGYfUmEjkaiIcy0CxaEBTf6VAvJlGo8bZH4qZVvR-U";
export const PUBLIC_URL = "https://prompts.example.com";
export const KEY = { authorization: "Bearer good" };
export const CREATE = JSON.stringify({ promptVersionId: ID, inputs: {} });

export interface Call {
  readonly name: EndpointName;
  readonly input: { readonly params: unknown; readonly query: unknown; readonly body: unknown };
  readonly context: RequestContext;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface EdgeServer {
  readonly http: HttpServer;
  readonly url: string;
  readonly port: number;
  readonly calls: Call[];
  readonly entries: AdmissionRequest[];
  readonly log: LogLine[];
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, body: string | Uint8Array<ArrayBuffer>, headers?: Record<string, string>): Promise<Response>;
}

/** What GET /v1/me returns here. */
export const ME = { username: null, displayName: null, userFlags: 0 } as const;

/** A handler that answers when it is released, and shows when it was called. */
export function createPausedGetMe() {
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const getMe = async () => {
    arrived.resolve();
    await release.promise;
    return { data: ME };
  };
  return { getMe, arrived: arrived.promise, release: release.resolve };
}

const BATCH = {
  batchId: ID,
  name: null,
  promptVersionId: ID,
  batchStatus: "running",
  pause: null,
  counts: { total: 1, notStarted: 1, queued: 0, running: 0, succeeded: 0, failed: 0, canceled: 0 },
  credits: 0,
  createdAt: "2026-11-02T08:00:00.000Z",
  finishedAt: null,
} as const;
const RUN = { runId: ID, outputs: [], runStatus: "queued", tokens: 0 } as const;
const CONFIG = {
  textInputs: {},
  imageInputs: [],
  imageCount: 0,
  model: "sandbox/text",
  modality: "text",
  runOptions: {},
  output: { type: "text" },
  inputSchema: {},
  estimatedCredits: 1,
  creditsRequired: 1,
} as const;
const VERSION = {
  promptVersionId: ID,
  promptId: ID,
  title: "Cat",
  publishedAt: "2026-11-02T08:00:00.000Z",
  config: CONFIG,
} as const;

function fixedHandlers(calls: Call[]): Handlers {
  const answering =
    <Data>(name: EndpointName, data: Data) =>
    async (input: Call["input"], context: RequestContext) => {
      calls.push({ name, input, context });
      return { data };
    };
  return {
    createRun: answering("createRun", RUN),
    getRun: answering("getRun", RUN),
    cancelRun: answering("cancelRun", RUN),
    followRun: async (input, context) => {
      calls.push({ name: "followRun", input, context });
      return {
        status: 200,
        headers: { "content-type": "text/event-stream; charset=utf-8" },
        body: Readable.from(["event: done\n\n"]),
      };
    },
    listRuns: answering("listRuns", { rows: [], hasMore: false }),
    createBatch: answering("createBatch", BATCH),
    getBatch: answering("getBatch", BATCH),
    listBatches: answering("listBatches", { rows: [], hasMore: false }),
    getBatchResults: async (input, context) => {
      calls.push({ name: "getBatchResults", input, context });
      return {
        status: 200,
        headers: { "content-type": "application/x-ndjson; charset=utf-8" },
        body: Readable.from(["{}\n"]),
      };
    },
    cancelBatch: answering("cancelBatch", BATCH),
    resumeBatch: answering("resumeBatch", BATCH),
    searchPrompts: answering("searchPrompts", { rows: [] }),
    getPrompt: answering("getPrompt", VERSION),
    getPromptVersion: answering("getPromptVersion", VERSION),
    resolveSlug: answering("resolveSlug", { slug: "edge", label: null, ...VERSION }),
    listSlugs: answering("listSlugs", { rows: [], missing: [] }),
    getResources: answering("getResources", { hash: HASH, resources: { models: [] } }),
    getMe: answering("getMe", ME),
    getCredits: answering("getCredits", { credits: 7 }),
  };
}

/** Every key stands for the account of the same name. */
export async function admitAnyone({ authorization }: AdmissionRequest): Promise<Admission> {
  const name = authorization[0]?.replace("Bearer ", "") ?? "";
  return { kind: "admitted", caller: { accountId: name, keyId: name }, remaining: 4 };
}

async function admitByName({ authorization }: AdmissionRequest): Promise<Admission> {
  const refused = (problem: Problem, remaining: number | null): Admission => ({ kind: "refused", problem, remaining });
  if (authorization.length !== 1) return refused(new Problem("UNAUTHORIZED_ERROR", "One key, please."), null);
  if (authorization[0] === "Bearer fast") return refused(new Problem("TOO_MANY_REQUESTS_ERROR", "Slow down."), 0);
  if (authorization[0] === "Bearer lapsed") {
    const problem = new Problem("PAYMENT_REQUIRED_ERROR", "Renew.", { data: { reason: "PLAN_LAPSED" } });
    return refused(problem, 3);
  }
  if (authorization[0] !== "Bearer good") return refused(new Problem("UNAUTHORIZED_ERROR", "Unknown key."), null);
  return { kind: "admitted", caller: { accountId: "account-1", keyId: "key-1" }, remaining: 4 };
}

function memoryLog(lines: LogLine[]): Log {
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push({ level, fields, message });
  };
  return { info: at("info"), warn: at("warn"), error: at("error"), debug: at("debug") } as unknown as Log;
}

function withBodyLimits(bodyBytesMax: Partial<Record<EndpointName, number>>) {
  const entries: Record<EndpointName, EndpointEntry> = { ...ENDPOINTS };
  for (const [name, bytes] of Object.entries(bodyBytesMax)) {
    entries[name as EndpointName] = { ...ENDPOINTS[name as EndpointName], bodyBytesMax: bytes };
  }
  return entries;
}

type Overrides = Partial<Omit<HttpServerOptions, "endpoints" | "authenticators" | "open">> &
  Partial<NonNullable<HttpServerOptions["open"]>> & {
    readonly admit?: Admit;
    readonly handlers?: Partial<Handlers>;
    readonly checks?: Partial<Record<EndpointName, CheckBody>>;
    readonly bodyBytesMax?: Partial<Record<EndpointName, number>>;
    /** In addition to the contract's endpoints. */
    readonly endpoints?: readonly Endpoint[];
    readonly authenticators?: HttpServerOptions["authenticators"];
  };

/** Starts a server that is closed when the test is over. */
export async function openEdge(...given: Parameters<typeof startEdge>): Promise<EdgeServer> {
  const edge = await startEdge(...given);
  onTestFinished(() => edge.http.close());
  return edge;
}

export async function startEdge(
  overrides: Overrides = {},
  { host = "127.0.0.1", port: onPort = 0 }: { readonly host?: string | undefined; readonly port?: number } = {},
): Promise<EdgeServer> {
  const calls: Call[] = [];
  const entries: AdmissionRequest[] = [];
  const log: LogLine[] = [];
  const { admit = admitByName, handlers, checks = {}, bodyBytesMax = {}, endpoints = [], ...options } = overrides;
  const contract = toEndpoints({
    entries: withBodyLimits(bodyBytesMax),
    schemas: async () => endpointSchemas,
    handlers: { ...fixedHandlers(calls), ...handlers },
    checks,
  });
  const http = createHttpServer({
    log: memoryLog(log),
    newId: createIdSource({ nowMs: () => 1_795_169_730_000 }),
    resourcesHash: () => HASH,
    open: {
      publicUrl: () => PUBLIC_URL,
      openFile: async ({ method }) => ({
        status: 200,
        headers: { "Content-Type": "image/png", "Content-Length": "5", "Cache-Control": "public" },
        body: method === "HEAD" ? null : Readable.from([Buffer.from("bytes")]),
      }),
      readiness: async () => ({ ready: true, details: {} }),
      ...options,
    },
    checkResponses: true,
    ...options,
    authenticators: {
      apiKey: async (request) => {
        entries.push(request);
        return admit(request);
      },
      ...overrides.authenticators,
    },
    endpoints: [...contract, ...endpoints],
  });
  const { url, port } = await http.listen({ host, port: onPort });
  return {
    http,
    url,
    port,
    calls,
    entries,
    log,
    get: (path, headers = KEY) => fetch(url + path, { headers, redirect: "error" }),
    post: (path, body, headers = KEY) => fetch(url + path, { method: "POST", body, headers, redirect: "error" }),
  };
}

/** Returns the envelope of an error response, checked against the contract. */
export async function errorOf(response: Response) {
  return errorEnvelopeSchema.parse(await response.json());
}

/** Returns the issues of a 422. */
export async function issuesOf(response: Response): Promise<readonly Issue[]> {
  const error = await errorOf(response);
  if (response.status !== 422 || error.status !== "VALIDATION_ERROR") {
    throw new Error(`expected a 422, got ${response.status} ${error.status}`);
  }
  return error.data.issues;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: { readonly status: string; readonly message: string; readonly data: unknown };
}

/** Where to send, and optionally what to call when the kernel has everything, before the server has read it. */
export type Target = number | { readonly port: number; readonly onWritten: () => void };

/** Everything the server sends until it closes the connection; the client never closes. Bytes are Latin-1. */
export function exchangeRaw(target: Target, ...parts: readonly (string | Buffer)[]): Promise<string> {
  const { port, onWritten } = typeof target === "number" ? { port: target, onWritten: () => {} } : target;
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => (text += chunk));
    socket.on("close", () => resolve(text));
    // The server may close while we are still sending; what it sent before counts.
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    for (const part of parts) socket.write(typeof part === "string" ? Buffer.from(part, "latin1") : part);
    socket.write("", () => onWritten());
  });
}

/** Splits what a connection received into answers, each with a Content-Length or without a body. */
export function readAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    const [line = "", ...lines] = rest.slice(0, end).split("\r\n");
    const headers = new Headers(lines.map((header) => header.split(": ", 2) as [string, string]));
    const length = Number(headers.get("content-length") ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push({
      status: Number(line.split(" ")[1]),
      headers,
      text: body,
      body: body === "" ? null : JSON.parse(body),
    });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

export async function sendRaw(port: number, ...parts: readonly (string | Buffer)[]): Promise<RawAnswer> {
  const [answer, ...more] = readAnswers(await exchangeRaw(port, ...parts));
  if (answer === undefined || more.length > 0) throw new Error(`expected one answer, got ${more.length + 1}`);
  return answer;
}

/** A connection that the test controls itself. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
    onTestFinished(() => void socket.destroy());
  });
}

/** Starts a request with the key of this account. The test sends the body and reads the response as slowly as it likes. */
export async function openRequest(
  port: number,
  account: string,
  line: string,
  ...headers: readonly string[]
): Promise<Socket> {
  const socket = await openSocket(port);
  socket.on("error", () => {}); // the server may cut it off
  socket.write([`${line} HTTP/1.1`, "Host: x", `Authorization: Bearer ${account}`, ...headers, "", ""].join("\r\n"));
  return socket;
}
