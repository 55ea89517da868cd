/** Servers that promptd is compared with, each in its own process that prints its address as its first line. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface ChildServer {
  readonly url: string;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

export interface ChildServerOptions {
  readonly file: string;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const children = new Set<ChildProcess>();

/** Starts the file with this Node. @throws Error when the process ends before it is ready. */
export async function startServer({ file, args = [], environment = {} }: ChildServerOptions): Promise<ChildServer> {
  const child = spawn(process.execPath, [file, ...args], {
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/", NODE_ENV: "production", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  const exit = once(child, "exit").finally(() => children.delete(child));
  const url = await Promise.race([
    readAddress(child),
    exit.then(() => {
      throw new Error(`${file} ended before it was ready.`);
    }),
  ]);
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill("SIGTERM");
      await exit;
    },
  };
}

/** Finds the first line with an address, and skips a peer's output before it. */
async function readAddress({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("The process has no output.");
  for await (const line of createInterface({ input: stdout })) {
    const url = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(line)?.[0];
    if (url === undefined) continue;
    stdout.resume(); // later output must not fill the pipe
    return url.replace("localhost", "127.0.0.1");
  }
  return new Promise(() => {}); // the process ended, which the caller notices
}

/** Ends processes that a failed measurement left behind. */
export async function killServers(): Promise<void> {
  await Promise.all(
    [...children].map(async (child) => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }),
  );
}
