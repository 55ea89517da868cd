/** The command `promptd` in its own processes, with its own environment, as an operator runs it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMPILE_CACHE, PROGRAM } from "../../server/test/support/promptd-process.ts";
import { createTestDatabase } from "../../server/test/support/test-database.ts";
import { runCommandHere } from "./run-here.ts";

export type Environment = Readonly<Record<string, string>>;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** The output so far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Resolves when stdout matches. If the process ends first, fails with everything that was printed. */
  printed(pattern: RegExp): Promise<string>;
}

const children = new Set<ChildProcess>();

/** Ends processes that failed tests left behind. For afterAll, because concurrent tests have no common end. */
export async function killLeftovers(): Promise<void> {
  await Promise.all(
    [...children].map((child) => {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      return exit;
    }),
  );
}

export function start(argv: readonly string[], environment: Environment, cwd = tmpdir()): Running {
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: "/nonexistent",
    PROMPTD_LOCAL_MODELS: "off",
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...environment,
  };
  const child = spawn(process.execPath, [PROGRAM, ...argv], { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  child.once("exit", () => children.delete(child));
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const ended = once(child, "close").then(([code]): Ended => ({ code: code as number | null, ...output }));
  const printed = (pattern: RegExp) => {
    const seen = new Promise<string>((resolve) => {
      const look = () => void (pattern.test(output.stdout) && resolve(output.stdout));
      child.stdout.on("data", look);
      look();
    });
    const early = ended.then((end): never => {
      throw new Error(`promptd ended with ${end.code}:\n${end.stdout}\n${end.stderr}`);
    });
    return Promise.race([seen, early]);
  };
  return { child, ended, output, printed };
}

/** Runs a command to completion. */
export function run(argv: readonly string[], environment: Environment, cwd?: string): Promise<Ended> {
  return start(argv, environment, cwd).ended;
}

/** Runs a command with --json that must succeed, in its own process or in this one. @returns the document on stdout. */
export async function readDocument<Document>(
  argv: readonly string[],
  environment: Environment,
  runCommand: typeof run | typeof runHere,
): Promise<Document> {
  const { code, stdout, stderr } = await runCommand([...argv, "--json"], environment);
  if (code !== 0) throw new Error(`promptd ${argv.join(" ")} ended with ${code}:\n${stderr}`);
  return JSON.parse(stdout) as Document;
}

/** The same command line inside this process, for tables with many cases. */
export async function runHere(argv: readonly string[], environment: Environment): Promise<Ended> {
  const env = { HOME: "/nonexistent", ...environment }; // the person who runs the tests may have signed in
  const { code, stdout, stderr } = await runCommandHere(argv, { env });
  return { code, stdout, stderr };
}

/** A directory that the database's user can also enter. */
export async function createDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "promptd-operator-"));
  await chmod(directory, 0o755);
  return directory;
}

export interface OwnDatabase {
  readonly url: string;
  readonly environment: Environment;
  remove(): Promise<void>;
}

/** A migrated, empty database and a data directory, as the environment of commands. */
export async function createInstallation(changes: Environment = {}): Promise<OwnDatabase> {
  const database = await createTestDatabase();
  const directory = await createDirectory();
  const environment = { DATABASE_URL: database.url, PROMPTD_DATA_DIR: join(directory, "data"), PORT: "0", ...changes };
  return {
    url: database.url,
    environment,
    remove: async () => {
      await database.drop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
