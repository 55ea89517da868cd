/** The local address that the browser returns to after a person has decided on the page (RFC 8252, 7.3). */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Loopback {
  /** Includes the free port that was found. */
  readonly address: string;
  /** Resolves with the page's response that carries this state. @throws the reason of the signal. */
  readonly answered: (state: string, signal: AbortSignal) => Promise<URLSearchParams>;
  readonly close: () => void;
}

/** The address as it is registered, without a port: each sign-in uses a different port. */
export const LOOPBACK_ADDRESS = "http://127.0.0.1/callback";

export async function openLoopback(): Promise<Loopback> {
  const answers = new Map<string, (answer: URLSearchParams) => void>();
  const server = createServer((request, response) => {
    // A request's path may be any text, so it may not form a valid URL.
    const url = URL.parse(`http://127.0.0.1${request.url ?? "/"}`);
    const { pathname, searchParams } = url ?? new URL(LOOPBACK_ADDRESS); // without a state
    const take = pathname === "/callback" ? answers.get(searchParams.get("state") ?? "") : undefined;
    // Any page can send a browser here, but only ours knows the state.
    if (take === undefined) return show(response, 404, "This address works once, to sign in to promptd.");
    show(response, 200, "promptd has received the response. Close this page and return to your terminal.");
    take(searchParams);
  });
  server.on("connection", (socket) => socket.unref()); // a browser may preconnect and send nothing
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const address = new URL(LOOPBACK_ADDRESS);
  address.port = String((server.address() as AddressInfo).port);
  return {
    address: address.href,
    answered: (state, signal) =>
      new Promise((resolve, reject) => {
        answers.set(state, resolve);
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      }),
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

function show(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'",
    "cache-control": "no-store",
    connection: "close", // the command ends once the browser has its response
  });
  response.end(`<!doctype html><title>promptd</title><p>${text}</p>`);
}
