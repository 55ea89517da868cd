/**
 * How a server stops: one way through its phases, and one rule for each kind of connection, all of it here.
 *
 *   serving    until it is asked to stop
 *   noticing   /readyz fails and answers close their connections; all is served, until a load balancer had its time
 *   gathering  the same, until nothing new has come for some cycles of the event loop
 *   finishing  nobody listens, and waits are over: what has come is answered
 *
 * Then a connection is closed
 *   with its answer;
 *   at once when it had its answer before: Node's own act when it stops listening;
 *   after `silentMs` when it has sent nothing: its request may be on its way;
 *   after `requestMs` when its request is still not whole: Node's limits on slow senders end with its listening;
 *   after the grace of the stop, `stopMsMin` at least, whatever it does: a caller who reads a little now and then, or
 *   an answer that never comes, would keep the process alive for ever.
 */
import { setImmediate as nextCycle } from "node:timers/promises";
import type { Connections } from "./connections.ts";

export interface StopOrder {
  /** When the notice is over; at once when absent. */
  readonly notice?: Promise<unknown>;
  /** How long answers under way may take to get through; `stopMsMin` when that is more. */
  readonly graceMs?: number;
  /** Ends the waits of requests, those under way and those to come. */
  readonly endWaits?: () => void;
}

export interface StoppingSetup {
  readonly connections: Connections;
  /** Closes the port before it returns. Resolves when the server has ended. */
  readonly stopListening: () => Promise<unknown>;
  readonly silentMs: number;
  readonly requestMs: number;
  readonly stopMsMin: number;
  /** Most connections that the kernel queues for a process that does not take them. */
  readonly backlog: number;
}

export interface Stopping {
  /** False while serving. */
  readonly hasBegun: boolean;
  /** Resolves when no connection is left. Stopped twice is stopped once. */
  stop(order: StopOrder): Promise<void>;
}

export function createStopping(setup: StoppingSetup): Stopping {
  let stopped: Promise<void> | null = null;
  return {
    get hasBegun() {
      return stopped !== null;
    },
    stop: (order) => (stopped ??= stopInOrder(setup, order)),
  };
}

async function stopInOrder(setup: StoppingSetup, { notice, graceMs = 0, endWaits }: StopOrder): Promise<void> {
  await notice;
  await gather(setup);
  const ended = setup.stopListening(); // in the same cycle: what came in between would be reset
  endWaits?.();
  await Promise.all([ended, finish(setup, Math.max(graceMs, setup.stopMsMin))]);
}

/** Cycles without anything new after which nothing can be waiting: one for a connection, one for its request, twice. */
const QUIET_CYCLES = 4;

/**
 * Takes what is there already. A process that was paused or starved finds connections that the kernel has accepted for
 * it, with their requests; Node takes one of them per cycle, and closing the port resets the rest. After as many cycles as
 * there can be connections, those that were there have been taken, however many still come.
 */
async function gather({ connections, backlog }: StoppingSetup): Promise<void> {
  let quietCycles = 0;
  for (let cycle = 0; cycle < backlog && quietCycles < QUIET_CYCLES; cycle += 1) {
    const before = connections.arrivals;
    await nextCycle(); // resolves right after the loop has polled its sockets
    quietCycles = connections.arrivals === before ? quietCycles + 1 : 0;
  }
}

async function finish(setup: StoppingSetup, lastMs: number): Promise<void> {
  const { connections, silentMs, requestMs } = setup;
  /** A timer comes before what the sockets brought meanwhile, so that is gathered first. */
  const closeAfter = (ms: number, isMeant: Parameters<Connections["closeWhere"]>[0]) =>
    setTimeout(() => void gather(setup).then(() => connections.closeWhere(isMeant)), ms);
  const timers = [
    closeAfter(silentMs, (socket, { open }) => open.length === 0 && socket.bytesRead === 0),
    closeAfter(requestMs, (_socket, { open }) => open.every(({ bodyIsRead }) => !bodyIsRead)),
    closeAfter(lastMs, () => true),
  ];
  await connections.closeWithAnswers();
  for (const timer of timers) clearTimeout(timer);
}
