#!/usr/bin/env node
// Plain JavaScript that runs on Node 18 or newer. The program itself needs a newer Node, which is installed with it,
// because cron, systemd, and npx would not find it by themselves.
import { existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs";
import module from "node:module";
import { constants, tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const VERSION_MIN = [22, 19];

/**
 * glibc gives threads their own heaps, up to eight per core, and returns little of their freed memory. With two heaps, a
 * worker under a flood of large images needs 374 MiB instead of 644 (2026-11-22, bench/cases/fairness.ts). The variable
 * is read when a process starts. Other C libraries ignore it.
 */
const HEAPS = process.platform === "linux" ? { MALLOC_ARENA_MAX: "2" } : {};

const home = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
const source = join(home, "src", "main.ts");
// In a checkout, Node strips the types of sources. It refuses to do so below node_modules, where there is a build instead.
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
 * Finds the directory where Node caches compiled code between starts, which halves their processor time (server start up
 * to its database: 0.86 s without, 0.46 s with; --help: 0.26 s and 0.10 s; medians of five, 2026-11-21). Anyone who can
 * write there can run code as this user, so it must belong to this user. Null: no cache, such as on a read-only machine.
 */
function findCacheDirectory() {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return null; // Node reads this variable itself
  const user = process.getuid?.() ?? "user";
  const directory = join(tmpdir(), `promptd-compiled-${user}`);
  try {
    if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
    const found = lstatSync(directory);
    const isOwn = process.getuid === undefined || (found.uid === user && (found.mode & 0o022) === 0);
    return found.isDirectory() && isOwn ? directory : null;
  } catch {
    return null; // the program also runs without it
  }
}

function isRecent(version) {
  const [major, minor] = version.split(".").map(Number);
  return major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]);
}

/** Searches upward like module resolution, so that a hoisted installation is also found. */
function findBundledNode(start) {
  for (let directory = start; ; directory = dirname(directory)) {
    const found = join(directory, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
    if (existsSync(found)) return found;
    if (dirname(directory) === directory) return null;
  }
}

/** Only a server runs long enough to justify starting Node a second time. */
function needsOtherHeaps() {
  const isServer = process.argv[2] === "serve" && typeof process.execve === "function";
  return isServer && Object.keys(HEAPS).some((name) => process.env[name] === undefined);
}

/** The program's environment: ours, plus the number of heaps and the compile cache. */
function programEnvironment() {
  const cache = findCacheDirectory();
  return { ...HEAPS, ...process.env, ...(cache === null ? {} : { NODE_COMPILE_CACHE: cache }) };
}

/** Becomes the program if Node can (22.15 or newer), so that every signal, even SIGKILL, reaches the program itself. */
async function replaceProcess(file, args) {
  const env = programEnvironment();
  if (typeof process.execve === "function") {
    process.removeAllListeners("warning"); // execve is experimental and would print a warning on every command
    process.execve(file, [file, ...args], env);
  }
  const follow = pathToFileURL(join(home, "bin", "exit-with-launcher.js")).href;
  const { spawn } = await import("node:child_process"); // loads streams and sockets, which other launches do not need
  const child = spawn(file, ["--import", follow, ...args], { stdio: ["inherit", "inherit", "inherit", "ipc"], env });
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
  // A terminal sends Ctrl-C to both processes. The program must not get it twice, because a second one means "stop now".
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
