import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Received {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Reply = (request: Received, response: ServerResponse) => void;

export interface OwnServer {
  readonly url: string;
  readonly received: readonly Received[];
}

/** A minimal provider for interfaces that the mock does not support; `reply` may also break the connection. */
export async function startOwnServer(reply: Reply): Promise<OwnServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {}); // the other side may hang up while sending
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      const seen = { method, path, headers, body: Buffer.concat(chunks).toString("utf8") };
      received.push(seen);
      reply(seen, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
