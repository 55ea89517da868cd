import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Exchange } from "./exchange.ts";

export interface Connections {
  /** Requests without a complete answer. */
  readonly openRequests: number;
  add(exchange: Exchange): void;
  /** True when an answer on this connection has begun: another one would garble it. */
  hasBegunAnswer(socket: Duplex): boolean;
  /**
   * Ends what would hold up the end of the server: connections without a request now, after `stalledMs` also those
   * that have still not sent theirs whole. Node stops its own limits on slow senders when it stops listening.
   * Resolves when no connection is left.
   */
  shutDown(stalledMs: number): Promise<void>;
}

const NONE: readonly Exchange[] = [];

/**
 * Open connections and their requests. When a connection is lost, the answer of a pipelined request that had not got
 * its turn emits no event on Node 20 (on 24 it does; both tried 2026-11), so the connection's own end counts as well.
 */
export function trackConnections(server: Server): Connections {
  // Nearly always one or none per connection: a set of its own for each would be the larger part of what is kept here.
  const exchanges = new Map<Duplex, readonly Exchange[]>();
  let openRequests = 0;
  let isShuttingDown = false;
  const ended = Promise.withResolvers<void>();

  function openOn(socket: Duplex): readonly Exchange[] {
    return exchanges.get(socket) ?? NONE;
  }
  function end(socket: Socket, exchange: Exchange): void {
    if (!exchange.end()) return;
    openRequests -= 1;
    const left = openOn(socket).filter((other) => other !== exchange);
    if (exchanges.has(socket)) exchanges.set(socket, left);
    if (isShuttingDown && left.length === 0) socket.destroySoon();
  }
  function destroyWhere(isUnused: (socket: Duplex, open: readonly Exchange[]) => boolean): void {
    for (const [socket, open] of exchanges) if (isUnused(socket, open)) socket.destroy();
  }
  server.on("connection", (socket: Socket) => {
    exchanges.set(socket, NONE);
    socket.on("close", () => {
      for (const exchange of openOn(socket)) end(socket, exchange);
      exchanges.delete(socket);
      if (isShuttingDown && exchanges.size === 0) ended.resolve();
    });
  });
  return {
    get openRequests() {
      return openRequests;
    },
    add(exchange) {
      const { socket } = exchange.request;
      openRequests += 1;
      if (exchanges.has(socket)) exchanges.set(socket, openOn(socket).concat(exchange));
      exchange.response.on("close", () => end(socket, exchange));
    },
    hasBegunAnswer: (socket) => openOn(socket).some(({ response }) => response.headersSent),
    async shutDown(stalledMs) {
      isShuttingDown = true;
      if (exchanges.size === 0) return;
      destroyWhere((socket, open) => open.length === 0 && "bytesRead" in socket && socket.bytesRead === 0);
      const timer = setTimeout(() => {
        destroyWhere((_socket, open) => open.every(({ bodyIsRead }) => !bodyIsRead));
      }, stalledMs);
      await ended.promise;
      clearTimeout(timer);
    },
  };
}
