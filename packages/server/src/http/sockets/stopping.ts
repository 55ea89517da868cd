/**
 * How a server stops: one sequence of phases and one rule for each kind of connection, all in this file.
 *
 *   serving    until it is asked to stop
 *   noticing   /readyz fails and answers close their connections; all requests are served, until load balancers have
 *              had time to notice
 *   gathering  the same, until nothing new has arrived for some event loop cycles
 *   finishing  the port is closed and waits are over: requests that have arrived are answered
 *
 * Then a connection is closed
 *   with its answer;
 *   at once if it already had its answer: Node does this when it stops listening;
 *   after `silentMs` if it has sent nothing: its request may be on the way;
 *   after `requestMs` if its request is still incomplete: Node's limits on slow senders end when it stops listening;
 *   after the stop's grace period, at least `stopMsMin`, whatever it does: a caller who reads a little now and then, or
 *   an answer that never comes, would keep the process alive forever.
 */
import { setImmediate as nextCycle } from "node:timers/promises";
import type { Connections } from "./connections.ts";

export interface StopOrder {
  /** Resolves when the notice period is over; absent: no notice period. */
  readonly notice?: Promise<unknown>;
  /** How long pending answers may take to get through, but at least `stopMsMin`. */
  readonly graceMs?: number;
  /** Ends all waits of requests, current and future. */
  readonly endWaits?: () => void;
}

export interface StoppingSetup {
  readonly connections: Connections;
  /** Closes the port before it returns. Resolves when the server has closed. */
  readonly stopListening: () => Promise<unknown>;
  readonly silentMs: number;
  readonly requestMs: number;
  readonly stopMsMin: number;
  /** The most connections that the kernel queues for a process that does not accept them. */
  readonly backlog: number;
}

export interface Stopping {
  /** False while serving. */
  readonly hasBegun: boolean;
  /** Resolves when no connection is left. Idempotent. */
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
  const ended = setup.stopListening(); // in the same cycle: anything that arrived in between would be reset
  endWaits?.();
  await Promise.all([ended, finish(setup, Math.max(graceMs, setup.stopMsMin))]);
}

/** After this many cycles without arrivals nothing is waiting: one for a connection, one for its request, twice. */
const QUIET_CYCLES = 4;

/**
 * Accepts the connections that are already there. A process that was paused or starved finds connections, with their
 * requests, that the kernel has accepted for it. Node takes one of them per cycle, and closing the port resets the
 * rest. After as many cycles as the backlog can hold connections, all of them have been taken, however many still
 * arrive.
 */
async function gather({ connections, backlog }: StoppingSetup): Promise<void> {
  let quietCycles = 0;
  for (let cycle = 0; cycle < backlog && quietCycles < QUIET_CYCLES; cycle += 1) {
    const before = connections.arrivals;
    await nextCycle(); // resolves right after the event loop has polled its sockets
    quietCycles = connections.arrivals === before ? quietCycles + 1 : 0;
  }
}

async function finish(setup: StoppingSetup, lastMs: number): Promise<void> {
  const { connections, silentMs, requestMs } = setup;
  /** Timers fire before the loop reads what the sockets brought meanwhile, so gather that first. */
  const closeAfter = (ms: number, isSelected: Parameters<Connections["closeWhere"]>[0]) =>
    setTimeout(() => void gather(setup).then(() => connections.closeWhere(isSelected)), ms);
  const timers = [
    closeAfter(silentMs, (socket, { open }) => open.length === 0 && socket.bytesRead === 0),
    closeAfter(requestMs, (_socket, { open }) => open.every(({ bodyIsRead }) => !bodyIsRead)),
    closeAfter(lastMs, () => true),
  ];
  await connections.closeWithAnswers();
  for (const timer of timers) clearTimeout(timer);
}
