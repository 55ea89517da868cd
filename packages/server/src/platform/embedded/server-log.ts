/**
 * The server writes to a file and never to a pipe, because promptd's death would break the pipe and with it the server.
 * The file is opened for appending, so it can be truncated in place while the server writes.
 */
import { copyFile, open, readFile, stat, truncate } from "node:fs/promises";

const BYTES_MAX = 8 * 1024 * 1024;
const TAIL_LINES = 12;

/** Rotates the log and keeps one older file. */
export async function rotateServerLog(file: string): Promise<void> {
  if ((await logSize(file)) <= BYTES_MAX) return;
  await copyFile(file, `${file}.1`);
  await truncate(file);
}

export function openServerLog(file: string) {
  return open(file, "a", 0o600);
}

export async function logSize(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/** A server that cannot start refuses every connection, with one or two lines each, which would hide the reason. */
const REFUSED_CONNECTION = /FATAL: {2}the database system is |DETAIL: {2}Consistent recovery state /;

/** Returns the last lines written since the file had `fromByte` bytes, without refused connections. */
export async function readLogTail(file: string, fromByte: number): Promise<string> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  const text = bytes.subarray(fromByte <= bytes.length ? fromByte : 0).toString("utf8");
  const lines = text.trimEnd().split("\n");
  return lines
    .filter((line) => !REFUSED_CONNECTION.test(line))
    .slice(-TAIL_LINES)
    .join("\n");
}
