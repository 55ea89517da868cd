import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Exchange } from "./exchange.ts";

export interface Connections {
  /** Requests without a complete answer. */
  readonly openRequests: number;
  /** Connections and requests that have come so far: while it stands still, nothing new comes. */
  readonly arrivals: number;
  add(exchange: Exchange): void;
  /** True when an answer on this connection has begun: another one would garble it. */
  readonly hasBegunAnswer: (socket: Duplex) => boolean;
  /** Acts once the requests that came whole on this connection are answered, at once if there are none; once for each. */
  readonly afterAnswers: (socket: Duplex, act: () => void) => void;
  /** Closes at once the connections that are meant, judged by their requests without a complete answer. */
  closeWhere(isMeant: (socket: Socket, open: readonly Exchange[]) => boolean): void;
  /** From now on a connection is closed with its last answer. Resolves when no connection is left. */
  closeWithAnswers(): Promise<void>;
}

const NONE: readonly Exchange[] = [];
const cameWhole = ({ bodyIsRead }: Exchange): boolean => bodyIsRead;

/**
 * Open connections and their requests. When a connection is lost, the answer of a pipelined request that had not got
 * its turn emits no event on Node 20 (on 24 it does; both tried 2026-11), so the connection's own end counts as well.
 */
export function trackConnections(server: Server): Connections {
  // Nearly always one or none per connection: a set of its own for each would be the larger part of what is kept here.
  const exchanges = new Map<Socket, readonly Exchange[]>();
  const byStream: ReadonlyMap<Duplex, readonly Exchange[]> = exchanges;
  let openRequests = 0;
  let arrivals = 0;
  let areClosing = false;
  const acts = new WeakMap<Duplex, () => void>();
  const ended = Promise.withResolvers<void>();

  function openOn(socket: Duplex): readonly Exchange[] {
    return byStream.get(socket) ?? NONE;
  }
  function actIfAnswered(socket: Duplex): void {
    const act = acts.get(socket);
    if (act === undefined || openOn(socket).some(cameWhole)) return;
    acts.set(socket, () => {}); // once
    act();
  }
  function end(socket: Socket, exchange: Exchange): void {
    if (!exchange.end()) return;
    openRequests -= 1;
    const left = openOn(socket).filter((other) => other !== exchange);
    if (exchanges.has(socket)) exchanges.set(socket, left);
    actIfAnswered(socket);
    if (areClosing && left.length === 0) socket.destroySoon();
  }
  function resolveWhenEmpty(): void {
    if (areClosing && exchanges.size === 0) ended.resolve();
  }
  server.on("connection", (socket: Socket) => {
    arrivals += 1;
    exchanges.set(socket, NONE);
    socket.on("close", () => {
      for (const exchange of openOn(socket)) end(socket, exchange);
      exchanges.delete(socket);
      resolveWhenEmpty();
    });
  });
  return {
    get openRequests() {
      return openRequests;
    },
    get arrivals() {
      return arrivals;
    },
    add(exchange) {
      const { socket } = exchange.request;
      arrivals += 1;
      openRequests += 1;
      if (exchanges.has(socket)) exchanges.set(socket, openOn(socket).concat(exchange));
      exchange.response.on("close", () => end(socket, exchange));
    },
    afterAnswers: (socket, act) => {
      if (acts.has(socket)) return;
      acts.set(socket, act);
      actIfAnswered(socket);
    },
    hasBegunAnswer: (socket) => openOn(socket).some(({ response }) => response.headersSent),
    closeWhere(isMeant) {
      for (const [socket, open] of exchanges) if (isMeant(socket, open)) socket.destroy();
    },
    closeWithAnswers() {
      areClosing = true;
      resolveWhenEmpty();
      return ended.promise;
    },
  };
}
