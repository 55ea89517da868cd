/** Runs a code block: a program, or a shell with the commands that it names. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { runCommandHere } from "../run-here.ts";
import { ROOT } from "./blocks.ts";

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

export type Environment = Readonly<Record<string, string>>;

const children = new Set<ChildProcess>();

export function stopPrograms(): void {
  for (const child of children) child.kill("SIGKILL");
}

export function startProgram(command: string, args: readonly string[], cwd: string, env: Environment): ChildProcess {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  child.once("close", () => children.delete(child));
  return child;
}

export async function runProgram(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Environment,
): Promise<Ended> {
  const child = startProgram(command, args, cwd, env);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

/** The first line that a listening program prints: its port. */
export async function portOf(child: ChildProcess): Promise<number> {
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const ended = once(child, "close").then(() => Promise.reject(new Error(`It does not listen: ${errors}`)));
  const [chunk] = (await Promise.race([once(child.stdout ?? child, "data"), ended])) as [Buffer];
  ended.catch(() => {}); // it is killed when the test ends
  return Number(chunk.toString());
}

/** Commands that run until they are stopped: only their command line is checked. */
const ENDLESS = new Set(["serve", "mcp"]);

export interface Shell {
  readonly run: (text: string, cwd: string, env: Environment) => Promise<Ended>;
  readonly close: () => Promise<void>;
}

/**
 * A shell in which `promptd` is the command line inside this process, `npm` checks that the script exists, and `curl`
 * fails when the server returns an error.
 * @param home a folder for the shell's files.
 */
export async function openShell(home: string): Promise<Shell> {
  const server = createServer((request, response) => void runForShell(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bin = join(home, "bin");
  mkdirSync(bin);
  for (const [name, text] of Object.entries(commandsOf((server.address() as AddressInfo).port))) {
    writeFileSync(join(bin, name), text);
    chmodSync(join(bin, name), 0o755);
  }
  const path = `${bin}:${process.env["PATH"] ?? ""}`;
  return {
    run: (text, cwd, env) => runProgram("bash", ["-euo", "pipefail", "-c", text], cwd, { ...env, PATH: path }),
    close: () => closeServer(server),
  };
}

/** A request from the shell's `promptd` command. */
async function runForShell(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [words, cwd, env] = ["words", "cwd", "env"].map((name) => decode(String(request.headers[`x-${name}`] ?? "")));
  const stdin = await readText(request);
  const ended = await runDocumented(listOf(words), { cwd: cwd?.trim() ?? "", env: environmentOf(listOf(env)), stdin });
  response.writeHead(200, { "x-code": String(ended.code) }).end(ended.output);
}

function commandsOf(port: number): Readonly<Record<string, string>> {
  const curl = "/usr/bin/env -S curl";
  const real = `PATH="\${PATH#*:}" ${curl}`;
  return {
    promptd: `#!/bin/bash
encode() { base64 -w0; }
answer=$(mktemp)
input=/dev/null
if [ -p /dev/stdin ]; then input=-; fi
code=$(${real} -s -o "$answer" -w '%header{x-code}' -X POST --data-binary @$input http://127.0.0.1:${port}/ \\
  -H "x-words: $(printf '%s\\0' "$@" | encode)" -H "x-cwd: $(pwd | encode)" -H "x-env: $(env -0 | encode)")
cat "$answer"
rm "$answer"
exit "$code"
`,
    npx: '#!/bin/bash\n"$@"\n',
    npm: `#!/bin/bash
case "$1" in
  ci | init | install) exit 0 ;;
  run) script=$2 ;;
  *) script=$1 ;;
esac
${process.execPath} -e 'process.exit(process.argv[1] in require(process.argv[2]).scripts ? 0 : 1)' "$script" ${join(ROOT, "package.json")}
`,
    curl: `#!/bin/bash\n${real} --fail-with-body "$@"\n`,
  };
}

function decode(text: string): string {
  return Buffer.from(text, "base64").toString();
}

function listOf(text = ""): string[] {
  return text.split("\0").slice(0, -1);
}

function environmentOf(lines: readonly string[]): Environment {
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

export interface Here {
  readonly cwd: string;
  readonly env: Environment;
  readonly stdin: string;
}

export function runDocumented(words: readonly string[], { cwd, env, stdin }: Here): Promise<Ended> {
  const argv = ENDLESS.has(words[0] ?? "") ? [...words, "--help"] : words;
  return runCommandHere(argv, { env, directory: cwd, readStdin: async () => stdin, ask: async () => "y" });
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** A module that is loaded before a program. It makes the program listen on a free port and print it. */
export const SAY_PORT = `data:text/javascript,${encodeURIComponent(`
import net from "node:net";
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function () {
  this.once("listening", () => console.log(this.address().port));
  return listen.call(this, 0, "127.0.0.1");
};`)}`;
