/** Empty folders for installing packages with a given Node version, and running commands there. */
import { spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The checkout. */
export const ROOT = join(import.meta.dirname, "../..");
/** One release of each supported Node line. The first is the oldest that the client supports. */
export const NODES: Readonly<Record<string, string>> = { "20": "20.20.2", "22": "22.23.3", "24": "24.21.0" };

export const home = mkdtempSync(join(tmpdir(), "promptd-packages-"));
/** Nothing takes this long except an installation from a slow registry. */
export const COMMAND_MS_MAX = 180_000;
export const children = new Set<ChildProcess>();

let failures = 0;

/** Runs one check and prints its result. A failure does not stop other checks. */
export async function check(what: string, work: () => Promise<string | void> | string | void): Promise<void> {
  const startedMs = performance.now();
  const took = () => `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
  try {
    const detail = (await work()) ?? "";
    console.log(`ok      ${what} (${took()})${detail === "" ? "" : `: ${detail}`}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED  ${what} (${took()}): ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface RunOptions {
  readonly cwd: string;
  /** The folder of the Node to put first on the path. */
  readonly node: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

export function environmentOf({ node, env, cwd }: Omit<RunOptions, "input">): Record<string, string> {
  const path = [node, join(cwd, "node_modules/.bin"), process.env["PATH"] ?? ""].join(":");
  return { PATH: path, HOME: home, npm_config_update_notifier: "false", ...registryOf(process.env), ...env };
}

/** This machine's package registry. */
function registryOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const found = Object.entries(env).filter(([name]) =>
    /^npm_config_(registry|cafile)$|^(HTTPS?_PROXY|NODE_EXTRA_CA_CERTS)$/i.test(name),
  );
  const userConfig = env["npm_config_userconfig"] ?? join(env["HOME"] ?? "", ".npmrc");
  return { ...(Object.fromEntries(found) as Record<string, string>), npm_config_userconfig: userConfig };
}

/** @returns standard output. @throws Error with all output when the exit code is not 0. */
export function run(command: string, args: readonly string[], options: RunOptions): string {
  return runWhole(command, args, options).stdout;
}

function runWhole(command: string, args: readonly string[], options: RunOptions) {
  const { cwd, input } = options;
  const ended = spawnSync(command, args, {
    cwd,
    input,
    env: environmentOf(options),
    encoding: "utf8",
    timeout: COMMAND_MS_MAX,
  });
  if (ended.status === 0) return ended;
  throw new Error(`${command} ${args.join(" ")} ended with ${ended.status}:\n${ended.stdout}${ended.stderr}`);
}

/** @param needNewer exactly the packages for which npm must warn that they need a newer Node. */
export function install(
  name: string,
  packages: readonly string[],
  node: string,
  needNewer: readonly string[] = [],
): string {
  const cwd = join(home, name);
  mkdirSync(cwd, { recursive: true });
  if (!existsSync(join(cwd, "package.json")))
    writeFileSync(join(cwd, "package.json"), '{"private":true,"type":"module"}\n');
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=warn"];
  const { stderr } = runWhole("npm", ["install", ...flags, ...packages], { cwd, node });
  const warned = [...stderr.matchAll(/EBADENGINE +package: '(.+)@/g)].map(([, found = ""]) => found).toSorted();
  if (warned.join() !== needNewer.join())
    throw new Error(`npm says that these need a newer Node: ${warned.join(", ")}.`);
  return cwd;
}

/** The folder of a Node version's program: this Node, or a package that contains it. */
export function findNode(major: string): string {
  if (process.versions.node.startsWith(`${major}.`)) return dirname(process.execPath);
  const version = NODES[major] ?? major;
  const cwd = install(
    `node-${major}`,
    [`node-${process.platform}-${process.arch}@${version}`],
    dirname(process.execPath),
  );
  return dirname(globSync("node_modules/node-*/bin/node", { cwd }).map((name) => join(cwd, name))[0] ?? "");
}

export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // it has ended
  }
}

/** Ends running processes and removes the folders. @returns how many checks failed. */
export function cleanUp(): number {
  for (const child of children) signalGroup(child, "SIGKILL");
  rmSync(home, { recursive: true, force: true, maxRetries: 10 });
  return failures;
}
