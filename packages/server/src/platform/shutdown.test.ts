import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";

interface Stopping {
  readonly child: ChildProcess;
  readonly exit: Promise<unknown[]>;
  readonly nextLine: () => Promise<string>;
  /** `go` releases what `drain` waits for; `later` advances the clock of the process by two seconds. */
  readonly write: (word: "go" | "later") => void;
}

/**
 * A process that stops as `drain` says, with a clock that stands still. It prints when it is ready, when it starts to
 * stop, which signals it received, and that it understood a word.
 */
async function start(drain: string): Promise<Stopping> {
  const path = (file: string) => JSON.stringify(join(import.meta.dirname, file));
  const script = `
    import { createInterface } from "node:readline";
    import { createLog } from ${path("log.ts")};
    import { stopOnSignal } from ${path("shutdown.ts")};
    let nowMs = 0;
    const go = Promise.withResolvers();
    stopOnSignal(async () => { console.log("draining"); ${drain} }, createLog("silent"), () => nowMs);
    for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => console.log(name));
    createInterface({ input: process.stdin }).on("line", (word) => {
      if (word === "later") { nowMs += 2_000; console.log("later"); } else go.resolve();
    });
    console.log("ready");`;
  const child = spawn(process.execPath, ["--conditions=promptd-source", "--input-type=module", "-e", script], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stderr.pipe(process.stderr);
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => String((await lines.next()).value);
  expect(await nextLine()).toBe("ready");
  return { child, exit: once(child, "exit"), nextLine, write: (word) => void child.stdin.write(`${word}\n`) };
}

const DRAIN_UNTIL_GO = 'await go.promise; console.log("drained");';

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "%s lets the work finish, then the process exits with code 0",
  async (signal) => {
    const { child, exit, nextLine, write } = await start(DRAIN_UNTIL_GO);
    child.kill(signal);
    expect([await nextLine(), await nextLine()]).toEqual(["draining", signal]);
    write("go");
    expect(await nextLine()).toBe("drained");
    expect(await exit).toEqual([0, null]);
  },
);

test("a Ctrl-C that arrives twice, from the terminal and from npm, counts once", async () => {
  const { child, exit, nextLine, write } = await start(DRAIN_UNTIL_GO);
  child.kill("SIGINT");
  expect([await nextLine(), await nextLine()]).toEqual(["draining", "SIGINT"]);
  child.kill("SIGINT");
  expect(await nextLine()).toBe("SIGINT");
  write("go");
  expect(await nextLine()).toBe("drained");
  expect(await exit).toEqual([0, null]);
});

test("a second signal of any kind ends the process at once with exit code 1", async () => {
  const { child, exit, nextLine, write } = await start("await new Promise(() => {});");
  child.kill("SIGTERM");
  expect([await nextLine(), await nextLine()]).toEqual(["draining", "SIGTERM"]);
  write("later");
  expect(await nextLine()).toBe("later");
  child.kill("SIGINT");
  expect(await exit).toEqual([1, null]);
});

test("a stop that fails ends the process with exit code 1", async () => {
  const { child, exit } = await start('throw new Error("no");');
  child.kill("SIGTERM");
  expect(await exit).toEqual([1, null]);
});
