import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Asks for a secret on the terminal without showing what is typed. @returns null when nobody can answer. */
export async function askSecret(question: string, signal: AbortSignal): Promise<string | null> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The terminal echoes input until raw mode is on, so the question comes after that.
  const lines = createInterface({ input: process.stdin, output: silence, terminal: true });
  process.stderr.write(question);
  try {
    return await readLine(lines, "", signal);
  } finally {
    process.stderr.write("\n");
  }
}

/** Like `askSecret`, but shows what is typed. @returns "" at the end of the input: somebody could have answered. */
export async function ask(question: string, signal: AbortSignal): Promise<string | null> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  return (await readLine(lines, question, signal)) ?? "";
}

/** @returns null at the end of the input. */
async function readLine(lines: Interface, question: string, signal: AbortSignal): Promise<string | null> {
  const stop = new AbortController();
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT")); // in raw mode, the terminal does not send the signal itself
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
