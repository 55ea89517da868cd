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
  const handle = serveStdio(() => createMcpServer({ ...options, callOf: () => null }), { transport, onerror: onError });
  await new Promise<void>((close) => {
    process.stdin.once("end", close);
    process.stdin.once("close", close);
    signal.addEventListener("abort", () => close(), { once: true });
  });
  void handle.close();
}
