import type { Duplex } from "node:stream";
import type { Exchange } from "./exchange.ts";

export interface OpenExchanges {
  readonly count: number;
  add(exchange: Exchange): void;
  hasBegunAnswer(socket: Duplex): boolean;
}

/**
 * Requests without a complete answer, by connection: the answer of a pipelined request that never got its turn emits
 * no event when the connection is lost, so the connection's own end is listened for as well.
 */
export function createOpenExchanges(): OpenExchanges {
  const bySocket = new WeakMap<Duplex, Set<Exchange>>();
  let count = 0;
  function end(socket: Duplex, exchange: Exchange): void {
    if (!exchange.end()) return;
    count -= 1;
    bySocket.get(socket)?.delete(exchange);
  }
  function watch(socket: Duplex): Set<Exchange> {
    const exchanges = new Set<Exchange>();
    bySocket.set(socket, exchanges);
    socket.once("close", () => {
      for (const exchange of exchanges) end(socket, exchange);
    });
    return exchanges;
  }
  return {
    get count() {
      return count;
    },
    add(exchange) {
      const { socket } = exchange.request;
      count += 1;
      (bySocket.get(socket) ?? watch(socket)).add(exchange);
      exchange.response.once("close", () => end(socket, exchange));
    },
    hasBegunAnswer: (socket) => [...(bySocket.get(socket) ?? [])].some(({ response }) => response.headersSent),
  };
}
