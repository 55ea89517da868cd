import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createMcpServer, type McpServerOptions } from "./mcp-server.ts";

/** Images arrive as Base64 within one message. */
const MESSAGE_BYTES_MAX = 40 * 1024 * 1024;

/**
 * Serves the tools on standard input and output until the host closes them, or the signal aborts.
 * @param onError called with errors that no response reports.
 */
export async function serveOnStdio(
  options: Pick<McpServerOptions, "source" | "version">,
  { signal, onError }: { readonly signal: AbortSignal; readonly onError: (error: Error) => void },
): Promise<void> {
  const transport = new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: MESSAGE_BYTES_MAX });
  const handle = serveStdio(() => createMcpServer({ ...options, callOf: () => null }), {
    transport,
    onerror: (error) => onError(isNotMessage(error) ? new Error(NOT_A_MESSAGE, { cause: error }) : error),
  });
  await new Promise<void>((close) => {
    process.stdin.once("end", close);
    process.stdin.once("close", close);
    signal.addEventListener("abort", () => close(), { once: true });
  });
  void handle.close();
}

/** Nothing is answered, because two programs could otherwise answer each other's errors forever. */
const NOT_A_MESSAGE = "Skipped a message on standard input that is not JSON-RPC 2.0.";

/** The SDK reports JSON that does not have a message's schema with every fault of every kind of message. */
function isNotMessage({ name }: Error): boolean {
  return name === "ZodError";
}
