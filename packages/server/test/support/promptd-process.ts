/**
 * promptd as its users start it: the command `promptd` in separate processes that can be told apart, killed, and
 * awaited.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const LAUNCHER = "bin/promptd.js";
/** The program from global-setup.ts, or the launcher that a benchmark starts. */
export const PROGRAM = process.env["TEST_PROGRAM"] ?? join(import.meta.dirname, "../../../cli", LAUNCHER);
/** No seed, no search for local models, and no load balancer to wait for. */
const QUICK = {
  PORT: "0",
  PROMPTD_SANDBOX_DIRECTIVES: "callers",
  PROMPTD_SEED: "off",
  PROMPTD_LOCAL_MODELS: "off",
  PROMPTD_STOP_NOTICE_SECONDS: "0",
};
const LOG_LINES_MAX = 5_000;
/** Shared by all processes of all tests: a start then takes a third of the time. */
export const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/promptd-test-compiled");

export interface ServeOptions {
  readonly role?: "all" | "api" | "worker";
  readonly environment: Readonly<Record<string, string>>;
  /** A program other than the tests' default. */
  readonly program?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface PromptdProcess {
  readonly pid: number;
  /** Empty for a worker. */
  readonly url: string;
  readonly exit: Promise<Exit>;
  /** The last lines of its log. */
  readonly log: readonly string[];
  signal(name: NodeJS.Signals): void;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<Exit>;
  kill(): Promise<Exit>;
}

const children = new Set<ChildProcess>();

function spawnPromptd(
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
  program = PROGRAM,
): ChildProcess {
  const child = spawn(process.execPath, [program, ...argv], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "/",
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      MALLOC_ARENA_MAX: "2", // as `npm start` sets it; otherwise the launcher would set it by starting Node twice
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** @throws Error with the process's last output if it exits before it is ready; `cause` is its Exit. */
export async function startPromptd(options: ServeOptions): Promise<PromptdProcess> {
  const role = options.role ?? "all";
  const environment = { ...QUICK, ...options.environment };
  const child = spawnPromptd(["serve", "--json", "--role", role], environment, options.program);
  const log: string[] = [];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log.push(...text.split("\n").filter((line) => line !== ""));
    log.splice(0, log.length - LOG_LINES_MAX);
  });
  const exit: Promise<Exit> = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  const url = await Promise.race([
    readUrl(child),
    exit.then((end) => {
      throw new Error(`promptd ended with ${end.signal ?? end.code}:\n${log.join("\n")}`, { cause: end });
    }),
  ]);
  const end = (name: NodeJS.Signals) => {
    child.kill(name);
    return exit;
  };
  return {
    pid: child.pid ?? 0,
    url,
    exit,
    log,
    signal: (name) => void child.kill(name),
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}

/** How a process exits that may do so before it is ready. */
export function exitOf(starting: Promise<PromptdProcess>): Promise<Exit> {
  return starting.then(
    ({ exit }) => exit,
    ({ cause }: Error) => cause as Exit,
  );
}

async function readUrl(child: ChildProcess): Promise<string> {
  let text = "";
  const { promise, resolve } = Promise.withResolvers<string>();
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.trimEnd().endsWith("}")) resolve((JSON.parse(text) as { url: string | null }).url ?? "");
  });
  return promise;
}

/** Runs one command to completion. @returns its exit code and the JSON document it printed. */
export async function runCommand(
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; result: unknown; errors: string }> {
  const child = spawnPromptd([...argv, "--json"], environment);
  let [output, errors] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, result: output === "" ? null : (JSON.parse(output) as unknown), errors };
}

/** Ends processes that a failed test left behind. */
export async function killLeftovers(): Promise<void> {
  await Promise.all(
    [...children].map((child) => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      return ended;
    }),
  );
}

/** Polls a condition; the deadline only bounds a failing test. */
export async function until(condition: () => Promise<boolean> | boolean, ms = 90_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error("the awaited condition never came true");
    await wait(20);
  }
}
