import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Exchange } from "../request/exchange.ts";

export interface Connections {
  /** Requests without a complete answer. */
  readonly openRequests: number;
  /** Connections and requests that have arrived so far. While this does not change, nothing new has arrived. */
  readonly arrivals: number;
  /** False if this connection accepts nothing more: too many requests are waiting on it, or it is ending. */
  takesMore(socket: Duplex): boolean;
  add(exchange: Exchange): void;
  /** True if no other request waits behind this one on its connection. */
  isLast(exchange: Exchange): boolean;
  /** True if an answer on this connection has begun: another answer would corrupt it. */
  hasBegunAnswer(socket: Duplex): boolean;
  /**
   * Calls `action` when all complete requests on this connection are answered, at once if there are none. At most once
   * per connection, and never if it is already ending.
   */
  afterAnswers(socket: Duplex, action: () => void): void;
  /** Closes matching connections at once. */
  closeWhere(isSelected: (socket: Socket, connection: Connection) => boolean): void;
  /** From now on, closes each connection after its last answer. Resolves when no connection is left. */
  closeWithAnswers(): Promise<void>;
}

/** What other modules may know about one connection. */
interface Connection {
  /** Requests without a complete answer, in the order of arrival. */
  readonly open: readonly Exchange[];
  /** When its last answer was sent, on the monotonic clock; null before the first. */
  readonly answeredAtMs: number | null;
}

interface TrackedConnection extends Connection {
  readonly open: Exchange[];
  answeredAtMs: number | null;
  /** True: an answer has announced it. */
  isClosing: boolean;
  /** What ends the connection when its complete requests are answered. */
  ending: { readonly action: () => void; hasActed: boolean } | null;
}

const cameWhole = ({ request }: Exchange): boolean => request.complete;

function isEnding({ open, isClosing, ending }: TrackedConnection): boolean {
  return isClosing || ending !== null || open.at(-1)?.closesConnection === true;
}

function endIfAnswered(socket: Duplex, { open, ending }: TrackedConnection): void {
  if (ending === null || ending.hasActed || open.some(cameWhole)) return;
  ending.hasActed = true;
  if (socket.writable) ending.action();
}

/**
 * Tracks open connections and their requests. When a connection is lost, the answer to a pipelined request that was not
 * yet due emits no event on Node 20 (it does on 24; both tried 2026-11), so the end of the connection counts as well.
 */
export function trackConnections(server: Server, openMaxEach: number): Connections {
  const connections = new Map<Socket, TrackedConnection>();
  const byStream: ReadonlyMap<Duplex, TrackedConnection> = connections;
  let openRequests = 0;
  let arrivals = 0;
  let areClosing = false;
  const ended = Promise.withResolvers<void>();

  function end(socket: Socket, connection: TrackedConnection | undefined, exchange: Exchange): void {
    if (!exchange.end()) return;
    openRequests -= 1;
    if (connection === undefined) return;
    connection.open.splice(connection.open.indexOf(exchange), 1);
    connection.answeredAtMs = performance.now();
    connection.isClosing ||= exchange.closesConnection;
    endIfAnswered(socket, connection);
    if (areClosing && connection.open.length === 0) socket.destroySoon();
  }
  function resolveWhenEmpty(): void {
    if (areClosing && connections.size === 0) ended.resolve();
  }
  server.on("connection", (socket: Socket) => {
    arrivals += 1;
    const connection: TrackedConnection = { open: [], answeredAtMs: null, isClosing: false, ending: null };
    connections.set(socket, connection);
    socket.on("close", () => {
      for (const exchange of connection.open.slice()) end(socket, connection, exchange);
      connections.delete(socket);
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
    takesMore(socket) {
      const connection = byStream.get(socket);
      return connection === undefined || (!isEnding(connection) && connection.open.length < openMaxEach);
    },
    isLast: (exchange) => byStream.get(exchange.request.socket)?.open.at(-1) === exchange,
    add(exchange) {
      const { socket } = exchange.request;
      const connection = connections.get(socket);
      arrivals += 1;
      openRequests += 1;
      connection?.open.push(exchange);
      exchange.response.on("close", () => end(socket, connection, exchange));
    },
    afterAnswers(socket, action) {
      const connection = byStream.get(socket);
      if (connection === undefined || connection.ending !== null) return;
      connection.ending = { action, hasActed: false };
      endIfAnswered(socket, connection);
    },
    hasBegunAnswer: (socket) => byStream.get(socket)?.open.some(({ response }) => response.headersSent) ?? false,
    closeWhere(isSelected) {
      for (const [socket, connection] of connections) if (isSelected(socket, connection)) socket.destroy();
    },
    closeWithAnswers() {
      areClosing = true;
      resolveWhenEmpty();
      return ended.promise;
    },
  };
}
