/** bin/promptd.js with a stand-in program: which Node runs it, what it receives, and how signals and exit codes pass. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../server/test/support/eventually.ts";

const LAUNCHER = join(import.meta.dirname, "../bin/promptd.js");
const PROGRAM = `
const args: unknown = process.argv.slice(2);
process.on("SIGTERM", () => process.exit(7));
setInterval(() => {}, 60_000);
const heaps: unknown = process.env["MALLOC_ARENA_MAX"];
console.log(JSON.stringify({ args, pid: process.pid, version: process.versions.node, flags: process.execArgv, heaps }));
if (process.argv[2] === "leave") process.exit(3);
`;

interface Report {
  args: string[];
  pid: number;
  version: string;
  flags: string[];
  heaps?: string;
}

let home = "";
beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "promptd-launcher-")));
  const cli = join(home, "packages/cli");
  await cp(dirname(LAUNCHER), join(cli, "bin"), { recursive: true });
  await mkdir(join(cli, "src"));
  await writeFile(join(cli, "src/main.ts"), PROGRAM);
  await writeFile(join(cli, "package.json"), '{"type":"module"}');
  await mkdir(join(home, "node_modules/.bin"), { recursive: true });
  await symlink("../../packages/cli/bin/promptd.js", join(home, "node_modules/.bin/promptd"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

function launch(file: string, args: string[], changes: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...changes },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function firstLine(child: ChildProcess): Promise<Report> {
  if (child.stdout === null) throw new Error("no output");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return JSON.parse(line) as Report;
}

describe("the launcher", () => {
  it("is executable, and becomes the program in a checkout: same process id, so any signal reaches the program", async () => {
    expect((await stat(LAUNCHER)).mode & 0o111).toBe(0o111);
    const child = launch(join(home, "node_modules/.bin/promptd"), ["wait", "b c", "--x=1"]);
    const report = await firstLine(child);
    expect(report.args).toEqual(["wait", "b c", "--x=1"]);
    expect(report.flags).toContain("--conditions=promptd-source");
    expect(report.pid).toBe(child.pid);
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exit).toEqual([7, null]);
  });

  it("passes on the exit code and adds nothing to the error output", async () => {
    const child = launch(join(home, "packages/cli/bin/promptd.js"), ["leave"]);
    let errors = "";
    child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    expect(await once(child, "close")).toEqual([3, null]);
    expect(errors).toBe("");
  });

  describe("keeps compiled code", () => {
    const cacheIn = (temporary: string) => join(temporary, `promptd-compiled-${process.getuid?.() ?? "user"}`);
    async function leaveWith(temporary: string, changes: NodeJS.ProcessEnv = {}) {
      const own = { TMPDIR: temporary, NODE_COMPILE_CACHE: undefined, ...changes };
      const child = launch(join(home, "packages/cli/bin/promptd.js"), ["leave"], own);
      let errors = "";
      child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
      expect(await once(child, "close")).toEqual([3, null]);
      expect(errors).toBe("");
    }

    it("in a temporary directory that only its user can write", async () => {
      const temporary = await mkdtemp(join(home, "tmp-"));
      await leaveWith(temporary);
      expect((await stat(cacheIn(temporary))).mode & 0o777).toBe(0o700);
      expect(await readdir(cacheIn(temporary))).not.toEqual([]);
      await leaveWith(temporary);
    });

    it("never where others could have written, nor behind a symbolic link", async () => {
      const temporary = await mkdtemp(join(home, "tmp-"));
      await mkdir(cacheIn(temporary));
      await chmod(cacheIn(temporary), 0o777);
      await leaveWith(temporary);
      expect(await readdir(cacheIn(temporary))).toEqual([]);
      await rm(cacheIn(temporary), { recursive: true });
      await symlink(await mkdtemp(join(home, "target-")), cacheIn(temporary));
      await leaveWith(temporary);
      expect(await readdir(cacheIn(temporary))).toEqual([]);
    });

    it("where the environment says, or not at all if nothing can be written", async () => {
      const temporary = await mkdtemp(join(home, "tmp-"));
      const chosen = join(temporary, "chosen");
      await leaveWith(temporary, { NODE_COMPILE_CACHE: chosen });
      expect(await readdir(temporary)).toEqual(["chosen"]);
      await leaveWith("/proc/no-such-place");
    });
  });

  it("in an installation runs the built program", async () => {
    const installed = join(home, "elsewhere/node_modules/promptd");
    await cp(join(home, "packages/cli"), installed, { recursive: true });
    await mkdir(join(installed, "dist"));
    await writeFile(join(installed, "dist/main.js"), 'console.log(JSON.stringify({ args: ["built"] }))');
    const child = launch(join(installed, "bin/promptd.js"), ["leave"]);
    expect((await firstLine(child)).args).toEqual(["built"]);
  });

  it.runIf(process.platform === "linux")(
    "bounds the heaps of a server, unless the environment says otherwise",
    async () => {
      const installed = join(home, "third/node_modules/promptd");
      await cp(join(home, "packages/cli"), installed, { recursive: true });
      await mkdir(join(installed, "dist"));
      await writeFile(join(installed, "dist/main.js"), PROGRAM.replace(/: unknown/g, ""));
      const inBoth = [join(home, "packages/cli/bin/promptd.js"), join(installed, "bin/promptd.js")];
      for (const file of inBoth) {
        for (const [given, heaps] of [
          [undefined, "2"],
          ["7", "7"],
        ] as const) {
          const child = launch(file, ["serve"], { MALLOC_ARENA_MAX: given });
          const report = await firstLine(child);
          expect(report).toMatchObject({ args: ["serve"], heaps, pid: child.pid });
          child.kill("SIGKILL");
        }
      }
    },
  );

  it("on an outdated Node, runs the bundled one as a child and passes on signals (even SIGKILL) and the exit code", async () => {
    // The launcher is made to believe in an old Node without execve; the bundled one is this Node.
    const old = join(home, "old.mjs");
    await writeFile(
      old,
      `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });
       process.execve = undefined;
       process.argv.splice(1, 1);
       await import(${JSON.stringify(join(home, "packages/cli/bin/promptd.js"))});`,
    );
    const bundled = join(home, "node_modules", `node-${process.platform}-${process.arch}`, "bin");
    const lonely = launch(old, ["ignored", "wait"]);
    expect(await once(lonely, "exit")).toEqual([1, null]);
    await mkdir(bundled, { recursive: true });
    await symlink(process.execPath, join(bundled, "node"));
    const child = launch(old, ["ignored", "wait"]);
    const report = await firstLine(child);
    expect(report.pid).not.toBe(child.pid);
    expect(report.version).toBe(process.versions.node);
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exit).toEqual([7, null]);

    const other = launch(old, ["ignored", "wait"]);
    const { pid } = await firstLine(other);
    other.kill("SIGKILL");
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
  });
});
