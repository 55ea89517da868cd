import type { Readiness } from "./endpoint.ts";
import { successText } from "./answer/envelope.ts";
import type { Exchange } from "./request/exchange.ts";

export interface HealthSetup {
  readonly readiness: () => Promise<Readiness>;
  readonly isStopping: () => boolean;
}

/** One look at a time: however many ask, the database is asked once, and who comes meanwhile is told the same. */
export function joinLooks<Result>(look: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | null = null;
  return () => {
    underWay ??= look().finally(() => (underWay = null));
    return underWay;
  };
}

/** The process answers: says nothing about the database. */
export function sendHealth(exchange: Exchange): void {
  exchange.sendJson(200, successText({ healthy: true }));
}

/**
 * Whether a load balancer should send requests here. Not ready is a 500: no 503 ever leaves the server. The details
 * stand in `data`, which other 500s leave null, so that an operator sees at once what is missing.
 */
export async function sendReadiness(exchange: Exchange, setup: HealthSetup): Promise<void> {
  const { ready, details } = await setup.readiness();
  if (ready && !setup.isStopping()) {
    exchange.sendJson(200, successText({ ready: true, ...details }));
    return;
  }
  const message = setup.isStopping() ? "The server is stopping." : "The server is not ready.";
  const text = JSON.stringify({ status: "SERVER_ERROR", message, data: { ready: false, ...details } });
  exchange.sendJson(500, text, { "x-should-retry": "true" });
}
