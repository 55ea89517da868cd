#!/usr/bin/env node
// Plain JavaScript that any Node from 18 on can read: the program itself needs a newer one, which the installation
// brings along, since neither cron nor systemd nor npx would find it by themselves.
import { existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs";
import module from "node:module";
import { constants, tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const VERSION_MIN = [22, 19];

/**
 * glibc gives threads heaps of their own, up to eight for each core, and returns little of what was freed in them. With
 * two a worker under a flood of large images needs 374 MiB instead of 644 (2026-11-22, bench/cases/fairness.ts). It is read when a process starts, and means nothing to another C library.
 */
const HEAPS = process.platform === "linux" ? { MALLOC_ARENA_MAX: "2" } : {};

const home = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
const source = join(home, "src", "main.ts");
// Node strips the types of sources in a checkout; below node_modules it refuses to, and there is a build instead.
const isCheckout = existsSync(source) && !home.split(sep).includes("node_modules");
const program = isCheckout ? ["--conditions=promptd-source", source] : [join(home, "dist", "main.js")];

const node = isRecent(process.versions.node) ? process.execPath : findBundledNode(home);
if (node === null) {
  console.error(
    `promptd needs Node ${VERSION_MIN.join(".")} or newer; this is ${process.version}. ` +
      (isCheckout ? "Run npm ci, which brings one for Linux, or install Node 24." : "Install Node 24."),
  );
  process.exitCode = 1;
} else if (node === process.execPath && !isCheckout && !needsOtherHeaps()) {
  const cache = findCacheDirectory();
  if (cache !== null) module.enableCompileCache?.(cache);
  await import(pathToFileURL(program[0]).href);
} else {
  await replaceProcess(node, [...program, ...process.argv.slice(2)]);
}

/**
 * Where Node keeps compiled code between starts, which then take about half the processor time (a start of the server up
 * to its database 0.86 s without, 0.46 s with; --help 0.26 s and 0.10 s; medians of five, 2026-11-21). Whoever can write there
 * can run code as this user, so it must be this user's own. Null: go without, as on a machine with nothing to write to.
 */
function findCacheDirectory() {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return null; // Node follows it by itself
  const user = process.getuid?.() ?? "user";
  const directory = join(tmpdir(), `promptd-compiled-${user}`);
  try {
    if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
    const found = lstatSync(directory);
    const isOwn = process.getuid === undefined || (found.uid === user && (found.mode & 0o022) === 0);
    return found.isDirectory() && isOwn ? directory : null;
  } catch {
    return null; // the program runs as well without
  }
}

function isRecent(version) {
  const [major, minor] = version.split(".").map(Number);
  return major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]);
}

/** Looks upward like module resolution does, so that a hoisted installation is found as well. */
function findBundledNode(start) {
  for (let directory = start; ; directory = dirname(directory)) {
    const found = join(directory, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
    if (existsSync(found)) return found;
    if (dirname(directory) === directory) return null;
  }
}

/** Only a server lives long enough to be worth a second start of Node. */
function needsOtherHeaps() {
  const isServer = process.argv[2] === "serve" && typeof process.execve === "function";
  return isServer && Object.keys(HEAPS).some((name) => process.env[name] === undefined);
}

/** The environment of the program: ours, how many heaps it has, and where compiled code is cached. */
function programEnvironment() {
  const cache = findCacheDirectory();
  return { ...HEAPS, ...process.env, ...(cache === null ? {} : { NODE_COMPILE_CACHE: cache }) };
}

/** Becomes the program where Node can (from 22.15 on), so that every signal, SIGKILL too, hits the program itself. */
async function replaceProcess(file, args) {
  const env = programEnvironment();
  if (typeof process.execve === "function") {
    process.removeAllListeners("warning"); // execve counts as experimental and would say so on every command
    process.execve(file, [file, ...args], env);
  }
  const follow = pathToFileURL(join(home, "bin", "exit-with-launcher.js")).href;
  const { spawn } = await import("node:child_process"); // loads streams and sockets, which no other launch needs
  const child = spawn(file, ["--import", follow, ...args], { stdio: ["inherit", "inherit", "inherit", "ipc"], env });
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
  // A terminal sends Ctrl-C to both; the program must not get it twice, since a second one means "at once".
  for (const signal of signals) {
    process.on(signal, () => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on("error", (error) => {
    console.error(`promptd could not be started with ${file}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exit(signal === null ? code : 128 + constants.signals[signal]);
  });
}
