import { createMcpHandler } from "@modelcontextprotocol/server";
import { createMcpServer, type McpServerOptions } from "./mcp-server.ts";

/** The context of one HTTP request that carries MCP messages. */
export interface HttpCall {
  readonly source: McpServerOptions["source"];
  readonly callOf: McpServerOptions["callOf"];
}

export interface HttpMcpOptions {
  /** The version of promptd. */
  readonly version: string;
  /** Called with errors that no response reports. */
  readonly onError: (error: Error) => void;
}

export interface HttpMcp {
  /** Answers one request. `message`: its parsed body. */
  answer(request: Request, message: unknown, call: HttpCall): Promise<Response>;
  close(): Promise<void>;
}

/**
 * Streamable HTTP without sessions: each request has its own server, so any process can answer it. Supports
 * clients of protocol version 2026-07-28 and of the 2025 versions.
 */
export function createHttpMcp({ version, onError }: HttpMcpOptions): HttpMcp {
  const calls = new WeakMap<Request, HttpCall>();
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const call = requestInfo === undefined ? undefined : calls.get(requestInfo);
      if (call === undefined) throw new Error("The HTTP request of an MCP message is unknown.");
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
