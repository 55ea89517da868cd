import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { createClient, type Client, type ClientOptions } from "@promptd/client";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One response of the script; `reset` breaks the connection, `never` leaves it open. */
export type Answer =
  /** `isOpen`: more data is announced, but never sent. */
  | { status: number; body?: unknown; raw?: string; headers?: Record<string, string>; isOpen?: boolean }
  | "reset"
  | "never";

export interface Setup {
  readonly client: Client;
  readonly baseUrl: string;
  /** Every request that arrived, in order. */
  readonly seen: Seen[];
  /** Every pause the client made, in milliseconds. */
  readonly pauses: number[];
  /** Resolves when the next request has arrived completely. */
  readonly nextRequest: () => Promise<Seen>;
  readonly close: () => Promise<void>;
}

/**
 * A real HTTP server that answers from the script line by line and repeats the last line, and a client for it, until
 * the test ends.
 */
export async function setup(script: readonly Answer[], options: Partial<ClientOptions> = {}): Promise<Setup> {
  const seen: Seen[] = [];
  const pauses: number[] = [];
  let arrived: ((request: Seen) => void)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      answer(response, script[Math.min(seen.length, script.length) - 1] ?? "reset");
      for (const resolve of arrived) resolve(one);
      arrived = [];
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => closeServer(server));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({
    baseUrl,
    apiKey: "pd_test",
    random: () => 0.5,
    delay: async (ms, signal) => {
      signal?.throwIfAborted();
      pauses.push(ms);
    },
    ...options,
  });
  const nextRequest = (): Promise<Seen> => new Promise((resolve) => arrived.push(resolve));
  return { client, baseUrl, seen, pauses, nextRequest, close: () => closeServer(server) };
}

function answer(response: ServerResponse, line: Answer): void {
  if (line === "never") return;
  if (line === "reset") {
    response.destroy();
    return;
  }
  response.writeHead(line.status, { "content-type": "application/json", ...line.headers });
  response.write(line.raw ?? JSON.stringify(line.body));
  if (line.isOpen !== true) response.end();
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections(); // closing twice is harmless: a test may close before its end
  await new Promise((resolve) => server.close(resolve));
}

export const success = (data: unknown, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  body: { status: "SUCCESS", data },
  headers,
});

export const failure = (
  status: number,
  code: string,
  more: { data?: unknown; headers?: Record<string, string> } = {},
): Answer => ({
  status,
  body: { status: code, message: `${code} happened.`, data: more.data ?? null },
  headers: more.headers ?? {},
});

export const run = (runStatus: string, runId = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a"): unknown => ({
  runId,
  outputs: runStatus === "succeeded" ? [{ type: "text", data: "Hello." }] : [],
  runStatus,
  tokens: runStatus === "succeeded" ? 12 : 0,
});
