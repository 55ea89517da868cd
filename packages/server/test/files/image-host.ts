import { createServer as createHttpsServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import type { ConnectTarget, NetworkSteps } from "../../src/files/fetch/guarded-connect.ts";
import { createTestCertificate } from "../support/test-certificate.ts";

/** A public address that the injected connector maps to the test's own server. */
export const PUBLIC_ADDRESS = "93.184.216.34";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A TLS server for images, and a network in which every name resolves to it unless a test says otherwise. */
export interface ImageHost {
  /** By path; anything else is 404. */
  readonly routes: Map<string, Handler>;
  /** By host name; absent: the public address. A function is called each time. */
  readonly names: Map<string, readonly string[] | (() => readonly string[])>;
  readonly network: NetworkSteps;
  /** PEM to trust. */
  readonly cert: string;
  /** Every connection attempt, whatever its outcome. */
  readonly attempts: ConnectTarget[];
  /** Every name that was looked up. */
  readonly questions: string[];
  /** Paths that arrived at the server. */
  readonly requests: string[];
  close(): Promise<void>;
}

export async function startImageHost(): Promise<ImageHost> {
  const { key, cert } = createTestCertificate(["images.example.org", "*.example.org"]);
  const routes = new Map<string, Handler>();
  const requests: string[] = [];
  const server = createHttpsServer({ key, cert }, (request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const handler = routes.get(path);
    if (handler === undefined) response.writeHead(404).end();
    else handler(request, response);
  });
  server.on("tlsClientError", () => {}); // clients that reject the certificate are part of the tests
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const names: ImageHost["names"] = new Map();
  const attempts: ConnectTarget[] = [];
  const questions: string[] = [];
  const network: NetworkSteps = {
    resolve: async (hostname) => {
      questions.push(hostname);
      const answer = names.get(hostname) ?? [PUBLIC_ADDRESS];
      return typeof answer === "function" ? answer() : answer;
    },
    connect: (target) => {
      attempts.push(target);
      return connectAs(target.addresses[0] ?? "", port);
    },
  };
  return { routes, names, network, cert, attempts, questions, requests, close: () => closeServer(server) };
}

/** A connection to the local server that claims to have reached `address`. */
export async function connectAs(address: string, port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  Object.defineProperty(socket, "remoteAddress", { value: address });
  return socket;
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
