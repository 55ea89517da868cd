/** A proxy between a client and a server that disturbs the first requests about runs as a list says. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { onTestFinished } from "vitest";

/**
 * What happens to one request: `lost` and `page` after the server has acted, `busy` without asking the server, `hasty`
 * without the caller's preferences, so that the server's own wait ends in a 504.
 */
export type Trouble = "lost" | "page" | "busy" | "hasty" | "none";

export interface Way {
  readonly url: string;
  /** Where requests go; null: nobody listens there. */
  target: string | null;
  /** Statuses that the caller got for runs, in order; 0 for a lost connection. */
  readonly seen: number[];
}

export async function openWay(target: string, troubles: Trouble[]): Promise<Way> {
  const proxy = createServer((request, response) => {
    const isOfRuns = request.url?.startsWith("/v1/runs") === true;
    if (isOfRuns) response.once("close", () => way.seen.push(response.headersSent ? response.statusCode : 0));
    void pass(request, response, (isOfRuns ? troubles.shift() : undefined) ?? "none");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const way: Way = { url, target, seen: [] };
  async function pass(request: IncomingMessage, response: ServerResponse, trouble: Trouble): Promise<void> {
    if (way.target === null) return void response.destroy();
    if (trouble === "busy") {
      const body = { status: "TOO_MANY_REQUESTS_ERROR", message: "Too many.", data: null };
      return void response.writeHead(429, { "retry-after": "1" }).end(JSON.stringify(body));
    }
    const answer = await forward(request, way.target, trouble === "hasty").catch(() => null);
    if (answer === null || trouble === "lost") return void response.destroy();
    if (trouble === "page")
      return void response.writeHead(504, { "content-type": "text/html" }).end("<html>504</html>");
    response.writeHead(answer.status, withoutLength(answer.headers));
    if (answer.body === null) return void response.end();
    await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => response.destroy());
  }
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return way;
}

async function forward(request: IncomingMessage, target: string, isHasty: boolean) {
  const { host: _host, connection: _connection, prefer, ...rest } = request.headers;
  const headers = { ...rest, ...(isHasty || prefer === undefined ? {} : { prefer }) } as Record<string, string>;
  const body = request.method === "POST" ? { body: await text(request) } : {};
  return fetch(target + (request.url ?? ""), { method: request.method ?? "GET", headers, ...body });
}

function withoutLength(headers: Headers): Record<string, string> {
  const left = [...headers].filter(([name]) => !/^(content-length|content-encoding|transfer-encoding)$/.test(name));
  return Object.fromEntries(left);
}
