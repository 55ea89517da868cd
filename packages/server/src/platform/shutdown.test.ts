import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";

/** A process that stops as `drain` says; it tells on stdout when it is ready and when it begins to stop. */
async function start(drain: string): Promise<{ child: ChildProcess; nextLine: () => Promise<string> }> {
  const path = (file: string) => JSON.stringify(join(import.meta.dirname, file));
  const script = `
    import { createLog } from ${path("log.ts")};
    import { stopOnSignal } from ${path("shutdown.ts")};
    stopOnSignal(async () => { console.log("draining"); ${drain} }, createLog("silent"));
    setInterval(() => {}, 60_000);
    console.log("ready");`;
  const child = spawn(process.execPath, ["--conditions=promptd-source", "--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => String((await lines.next()).value);
  expect(await nextLine()).toBe("ready");
  return { child, nextLine };
}

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s lets the work end, then the process ends with exit code 0",
  async (signal) => {
    const { child, nextLine } = await start(
      'await new Promise((done) => setTimeout(done, 50)); console.log("drained");',
    );
    const exit = once(child, "exit");
    child.kill(signal);
    expect([await nextLine(), await nextLine()]).toEqual(["draining", "drained"]);
    expect(await exit).toEqual([0, null]);
  },
);

test("the same Ctrl-C that comes twice, from the terminal and from npm, is one", async () => {
  const { child, nextLine } = await start(
    'await new Promise((done) => setTimeout(done, 300)); console.log("drained");',
  );
  const exit = once(child, "exit");
  child.kill("SIGINT");
  expect(await nextLine()).toBe("draining");
  child.kill("SIGINT");
  expect(await nextLine()).toBe("drained");
  expect(await exit).toEqual([0, null]);
});

test("a second signal of either kind ends the process at once, with exit code 1", async () => {
  const { child, nextLine } = await start("await new Promise(() => {});");
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  expect(await nextLine()).toBe("draining");
  const again = setInterval(() => child.kill("SIGINT"), 100); // until it counts as a second one
  expect(await exit).toEqual([1, null]);
  clearInterval(again);
});

test("a stop that fails ends the process with exit code 1", async () => {
  const { child } = await start('throw new Error("no");');
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exit).toEqual([1, null]);
});
