/** What all connections to the database have in common. */
import { types, type ClientConfig, type CustomTypesConfig } from "pg";
import { Socket } from "node:net";
import { onCut } from "../fault-injection.ts";

export const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Our own timeout, for a server or network that does not respond: without it a request or heartbeat would wait for
 * hours.
 */
const QUERY_TIMEOUT_MS = 6_000;

export function connectionSettings(url: string, role: string): ClientConfig {
  return {
    connectionString: url,
    application_name: `promptd:${role}:${process.pid}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: customTypes,
    stream: openSocket,
    query_timeout: QUERY_TIMEOUT_MS,
  };
}

const sockets = new Set<Socket>();
onCut(() => {
  for (const socket of sockets) socket.destroy();
});

function openSocket(): Socket {
  const socket = new Socket();
  sockets.add(socket);
  return socket.once("close", () => sockets.delete(socket));
}

/** Reads bigint columns as numbers; throws if a number would lose digits. */
const customTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? parseInt8 : types.getTypeParser(oid, format)),
};

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`The database returned ${text}, which is not a safe integer.`);
  return value;
}
