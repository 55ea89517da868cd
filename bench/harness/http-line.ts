/**
 * A connection that sends one HTTP request after another in as few steps as possible. On two cores, an expensive client
 * would be measured instead of the server.
 */
import { connect, type Socket } from "node:net";
import { once } from "node:events";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface HttpLine {
  /** Sends one request at a time. @throws Error when the connection ends before the response. */
  send(request: Buffer): Promise<Answer>;
  close(): void;
}

export interface Outgoing {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export function writeRequest({ method, path, headers = {}, body }: Outgoing, host: string): Buffer {
  const all = {
    host,
    ...headers,
    ...(body === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`);
}

export async function openLine(url: string): Promise<HttpLine> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  return attach(socket);
}

function attach(socket: Socket): HttpLine {
  let received = Buffer.alloc(0);
  let waiting: PromiseWithResolvers<Answer> | null = null;
  const fail = (reason: string) => {
    waiting?.reject(new Error(`The connection ended before the response: ${reason}.`));
    waiting = null;
  };
  socket.on("data", (piece) => {
    received = received.length === 0 ? piece : Buffer.concat([received, piece]);
    const answer = readAnswer(received);
    if (answer === null) return;
    received = Buffer.alloc(0); // nothing follows: the next request has not been sent
    waiting?.resolve(answer);
    waiting = null;
  });
  socket.on("error", (error) => fail(error.message));
  socket.on("close", () => fail("closed by the server"));
  return {
    send: (request) => {
      if (socket.destroyed) return Promise.reject(new Error("The connection is closed."));
      waiting = Promise.withResolvers();
      socket.write(request);
      return waiting.promise;
    },
    close: () => socket.destroy(),
  };
}

/** Null: the response has not arrived completely. */
export function readAnswer(bytes: Buffer): Answer | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const head = bytes.toString("latin1", 0, end);
  const status = Number(head.slice(9, 12));
  const length = /\r\ncontent-length: *(?<length>\d+)/i.exec(head)?.groups?.["length"];
  if (length === undefined) {
    const body = readChunks(bytes, end + 4);
    return body === null ? null : { status, body };
  }
  const until = end + 4 + Number(length);
  return bytes.length < until ? null : { status, body: bytes.toString("utf8", end + 4, until) };
}

/** Reads a chunked body. Null: its last chunk has not arrived. */
function readChunks(bytes: Buffer, from: number): string | null {
  const pieces: Buffer[] = [];
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return null;
    if (size === 0) return Buffer.concat(pieces).toString();
    pieces.push(bytes.subarray(lineEnd + 2, next - 2));
    at = next;
  }
}
