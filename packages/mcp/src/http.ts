import { createMcpHandler } from "@modelcontextprotocol/server";
import { createMcpServer, type McpServerOptions } from "./mcp-server.ts";

/** What is known of one HTTP request that carries messages of the protocol. */
export interface HttpCall {
  readonly source: McpServerOptions["source"];
  readonly callOf: McpServerOptions["callOf"];
}

export interface HttpMcpOptions {
  /** Of promptd. */
  readonly version: string;
  /** Takes what goes wrong beside the answers. */
  readonly onError: (error: Error) => void;
}

export interface HttpMcp {
  /** Answers one request. `message`: its parsed body. */
  answer(request: Request, message: unknown, call: HttpCall): Promise<Response>;
  close(): Promise<void>;
}

/**
 * Streamable HTTP without sessions: every request has its own server, so any process may answer it. Clients of the
 * protocol of 2026-07-28 and of 2025 are served.
 */
export function createHttpMcp({ version, onError }: HttpMcpOptions): HttpMcp {
  const calls = new WeakMap<Request, HttpCall>();
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const call = requestInfo === undefined ? undefined : calls.get(requestInfo);
      if (call === undefined) throw new Error("A message of MCP has no request that it came with.");
      return createMcpServer({ version, ...call });
    },
    { onerror: onError },
  );
  return {
    answer: (request, message, call) => {
      calls.set(request, call);
      return handler.fetch(request, { parsedBody: message });
    },
    close: () => handler.close(),
  };
}
