import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Log } from "../../platform/log.ts";

/** Open files for the database, stored files, providers, and webhooks. */
const RESERVED_MAX = 256;

/**
 * How many connections the operating system's limit on open files leaves for callers: at least half of it. Infinity: the
 * limit is unknown, because this is not Linux.
 */
export function connectionsWithin(openFilesMax = readOpenFilesMax()): number {
  return openFilesMax - Math.min(RESERVED_MAX, Math.floor(openFilesMax / 2));
}

function readOpenFilesMax(): number {
  try {
    const [, max] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return max === undefined ? Infinity : Number(max);
  } catch {
    return Infinity;
  }
}

/**
 * Closes connections above a maximum at once, and logs when that begins and when it has ended. Otherwise all open files
 * of the process could be connections: it would close further ones without a word, and runs could open no file.
 */
export function limitConnections(server: Server, max: number, log: Log): void {
  if (max === Infinity) return;
  server.maxConnections = max;
  let dropped = 0;
  server.on("drop", () => {
    dropped += 1;
    if (dropped > 1) return;
    const next = "Raise the limit on open files of this process (ulimit -n; LimitNOFILE in a unit of systemd).";
    log.warn({ connections: max }, `no more connections are accepted: they would take too many open files. ${next}`);
  });
  server.on("connection", () => {
    if (dropped === 0) return;
    log.info({ refused: dropped }, "connections are accepted again");
    dropped = 0;
  });
}
