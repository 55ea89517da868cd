import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Asks on the terminal for something that must not be seen. @returns null where nobody can answer. */
export async function askSecret(question: string, signal: AbortSignal): Promise<string | null> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The terminal shows what is typed until it is read raw, so the question comes after that.
  const lines = createInterface({ input: process.stdin, output: silence, terminal: true });
  process.stderr.write(question);
  try {
    return await readLine(lines, "", signal);
  } finally {
    process.stderr.write("\n");
  }
}

/** The same for an answer that may be seen. @returns "" for an end of the input: somebody could have answered. */
export async function ask(question: string, signal: AbortSignal): Promise<string | null> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  return (await readLine(lines, question, signal)) ?? "";
}

/** @returns null at the end of the input. */
async function readLine(lines: Interface, question: string, signal: AbortSignal): Promise<string | null> {
  const stop = new AbortController();
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT")); // the terminal is read raw, so it sends none itself
  lines.once("close", () => stop.abort());
  try {
    return (await lines.question(question, { signal: AbortSignal.any([signal, stop.signal]) })).trim();
  } catch {
    signal.throwIfAborted();
    return null;
  } finally {
    lines.close();
  }
}
