/** Where a browser on this machine comes back to when a person has decided on a page (RFC 8252, 7.3). */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Loopback {
  /** With the port that was free. */
  readonly address: string;
  /** What the page answered with this state. @throws the reason of the signal. */
  readonly answered: (state: string, signal: AbortSignal) => Promise<URLSearchParams>;
  readonly close: () => void;
}

/** The address without a port, as it is registered: each sign-in gets another one. */
export const LOOPBACK_ADDRESS = "http://127.0.0.1/callback";

export async function openLoopback(): Promise<Loopback> {
  const answers = new Map<string, (answer: URLSearchParams) => void>();
  const server = createServer((request, response) => {
    // A request may have any text there, and so no address at all.
    const asked = URL.parse(`http://127.0.0.1${request.url ?? "/"}`);
    const { pathname, searchParams } = asked ?? new URL(LOOPBACK_ADDRESS); // without a state
    const take = pathname === "/callback" ? answers.get(searchParams.get("state") ?? "") : undefined;
    // Any page can lead a browser here; what it does not know is the state.
    if (take === undefined) return show(response, 404, "This address is for signing in to promptd, once.");
    show(response, 200, "promptd has the answer. Close this page, and go back to your terminal.");
    take(searchParams);
  });
  server.on("connection", (socket) => socket.unref()); // a browser may connect ahead, and send nothing
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
    connection: "close", // the command ends when its browser has been answered
  });
  response.end(`<!doctype html><title>promptd</title><p>${text}</p>`);
}
