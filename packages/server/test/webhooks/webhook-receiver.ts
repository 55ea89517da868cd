/** A webhook receiver on loopback: it records each request, and responds as its test wants. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import type { WebhookEvent } from "@promptd/contract/manage";

export interface ReceivedEvent {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: WebhookEvent;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: readonly ReceivedEvent[];
  /** Answers the next requests; 204 until it is set. */
  answer: (response: ServerResponse, event: ReceivedEvent) => void;
  /** Resolves with all matching requests, once there are this many. */
  atLeast(count: number, fits?: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent[]>;
  /** Forgets the received requests, and responds with 204 again. */
  reset(): void;
  close(): Promise<void>;
}

const answer204 = (response: ServerResponse): void => void response.writeHead(204).end();
const WAIT_MS = 30_000;

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedEvent[] = [];
  const waiters = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const event = {
        path: request.url ?? "",
        headers: request.headers,
        body,
        event: JSON.parse(body) as WebhookEvent,
      };
      received.push(event);
      receiver.answer(response, event);
      for (const check of waiters) check();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/events`,
    received,
    answer: answer204,
    atLeast: (count, fits = () => true) => {
      const { promise, resolve, reject } = Promise.withResolvers<ReceivedEvent[]>();
      const check = (): void => {
        const found = received.filter(fits);
        if (found.length < count) return;
        clearTimeout(timer);
        waiters.delete(check);
        resolve(found);
      };
      const late = () => reject(new Error(`${received.filter(fits).length} of ${count} events came`));
      const timer = setTimeout(late, WAIT_MS);
      waiters.add(check);
      check();
      return promise;
    },
    reset: () => {
      received.length = 0;
      receiver.answer = answer204;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return receiver;
}

/** Verifies with the library that receivers use. @throws if no signature matches. */
export function verify({ body, headers }: ReceivedEvent, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}

/** The headers of an event, from the same library. */
export function sign(body: string, secret: string): Record<string, string> {
  const now = new Date();
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign("evt_1", now, body),
  };
}

export function isVerified(event: ReceivedEvent, secret: string): boolean {
  try {
    verify(event, secret);
    return true;
  } catch {
    return false;
  }
}
