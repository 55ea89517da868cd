/**
 * The raw socket: what Node refuses before there is a request, and what it would let through. Node's own answers would
 * be bare 400, 408, 417, and 431; here every refusal is an error envelope, after which the connection is closed.
 */
import { STATUS_CODES, type IncomingMessage, type Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Log } from "../../platform/log.ts";
import { badRequest, Problem } from "../../platform/problem.ts";
import type { Connections } from "./connections.ts";
import { errorText, problemHeaders } from "../response/envelope.ts";

export interface RawRefusalsSetup {
  readonly log: Log;
  readonly newId: () => string;
  readonly lingerMs: number;
  readonly halfClosedMs: number;
  readonly connections: Pick<Connections, "hasBegunAnswer" | "afterAnswers">;
}

/**
 * Installs the raw answers, each sent after the answers that are due on its socket.
 * @returns a function that stops reading requests from a connection on which too many are waiting.
 */
export function installRawRefusals(server: Server, setup: RawRefusalsSetup): (socket: Duplex) => void {
  const { connections } = setup;
  const refuse = (socket: Duplex, problem: Problem) => {
    connections.afterAnswers(socket, () => sendRaw(socket, problem, setup));
  };
  // A failed parser reports again with every packet.
  server.on("clientError", (error: NodeJS.ErrnoException & { reason?: string }, socket) => {
    if (error.code === "ECONNRESET" || error.code === "EPIPE" || hasSentNothing(socket)) return socket.destroy();
    return connections.afterAnswers(socket, () => {
      if (connections.hasBegunAnswer(socket)) closeAfterAnswer(socket, setup.lingerMs);
      else sendRaw(socket, rawProblem(error), setup);
    });
  });
  answerHalfClosed(server, setup.halfClosedMs);
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    refuse(socket, new Problem("NOT_FOUND_ERROR", "Unrecognized request: CONNECT."));
  });
  return (socket) => {
    stopParsing(socket);
    refuse(socket, tooManyWaiting());
  };
}

/** Browsers open connections in advance, and would take anything sent on one for the answer to their next request. */
function hasSentNothing(socket: Duplex): boolean {
  return socket instanceof Socket && socket.bytesRead === 0;
}

/**
 * Discards what still arrives. Node would parse it, and keeps reading however many requests wait, as long as no answers
 * do (24.21): a packet of 64 KiB can contain two thousand requests.
 */
function stopParsing(socket: Duplex): void {
  socket.removeAllListeners("data").on("data", () => {});
}

function tooManyWaiting(): Problem {
  return new Problem(
    "TOO_MANY_REQUESTS_ERROR",
    "Too many requests are waiting on this connection. Wait for responses, or use more connections.",
  );
}

/**
 * Answers callers who close their side after sending the request but still read. Node would close the connection before
 * an answer that takes a moment. A caller who has gone looks the same, so the answer gets little time. The option is
 * documented only in Node's source (24.21, lib/_http_server.js).
 */
function answerHalfClosed(server: Server, halfClosedMs: number): void {
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket) => {
    socket.on("end", () => {
      const timer = setTimeout(() => socket.destroy(), halfClosedMs);
      socket.once("close", () => clearTimeout(timer));
    });
  });
}

function rawProblem(error: { readonly code?: string | undefined; readonly reason?: string }): Problem {
  const { code = "" } = error;
  if (code === "HPE_HEADER_OVERFLOW")
    return badRequest("The request line and headers together are larger than 16 KiB. Shorten them.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return badRequest("The request did not arrive completely in time. Send it again.");
  const reason = error.reason === undefined ? "" : `: ${error.reason}`;
  return badRequest(`The request is not valid HTTP/1.1${reason}.`);
}

function sendRaw(socket: Duplex, problem: Problem, setup: RawRefusalsSetup): void {
  const body = errorText(problem);
  const requestId = setup.newId();
  const status = problem.httpStatus;
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": requestId,
    ...problemHeaders(problem),
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines];
  socket.on("error", () => socket.destroy());
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  closeAfterAnswer(socket, setup.lingerMs);
  setup.log.info({ requestId, route: "-", status, message: problem.message }, "request refused on the socket");
}

/** Discards what still arrives for a while: an immediate reset would cost the caller the answer. */
function closeAfterAnswer(socket: Duplex, lingerMs: number): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer)).once("end", () => socket.destroy());
  socket.resume();
}
