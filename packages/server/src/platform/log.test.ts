import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createFailureLog, createLog, describeError, readableStream } from "./log.ts";

/** Like the driver's error: its members contain row values. */
function databaseError(): Error {
  const cause = Object.assign(new Error("the socket said no"), { bytes: "SECRET" });
  return Object.assign(new Error("duplicate key value", { cause }), {
    name: "DatabaseError",
    code: "23505",
    detail: "Key (email)=(SECRET) already exists.",
    where: "PL/pgSQL function SECRET",
    parameters: ["SECRET"],
    internalQuery: "select SECRET",
    responseBody: "SECRET",
  });
}

describe("an error in the log", () => {
  test("has its class, message, code, stack, and causes; members with user data are left out", () => {
    const described = describeError(databaseError());
    expect(described).toEqual({
      type: "DatabaseError",
      message: "duplicate key value",
      code: "23505",
      stack: expect.stringContaining("log.test.ts"),
      cause: { type: "Error", message: "the socket said no", stack: expect.any(String) },
    });
    expect(JSON.stringify(described)).not.toContain("SECRET");
  });

  test("with circular causes ends, and a value that is not an error is logged with its type", () => {
    const error = new Error("round");
    error.cause = error;
    expect(JSON.stringify(describeError(error)).match(/"round"/g)).toHaveLength(5);
    expect(describeError("thrown text")).toEqual({ type: "string", message: "thrown text" });
    expect(describeError(undefined)).toEqual({ type: "undefined", message: "undefined" });
  });
});

test("a repeated failure is one line when it starts and one when it is over, and every failure is logged at debug", () => {
  const lines: string[] = [];
  const toLine = (line: string) => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    lines.push(`${level} ${msg}`);
  };
  const failures = createFailureLog(pino({ level: "debug" }, { write: toLine }), "it fails", "it works again");
  failures.worked();
  for (let i = 0; i < 3; i += 1) failures.failed(new Error("away"));
  for (let i = 0; i < 3; i += 1) failures.worked();
  failures.failed(new Error("away"));
  expect(lines).toEqual(["40 it fails", "20 it fails", "20 it fails", "30 it works again", "40 it fails"]);
});

/** Runs a script with a log in a separate process. */
async function runWithLog(script: string): Promise<{ stdout: string; stderr: string }> {
  const code = `import { createLog } from ${JSON.stringify(join(import.meta.dirname, "log.ts"))};\n${script}`;
  const child = spawn(process.execPath, ["--conditions=promptd-source", "--input-type=module", "-e", code]);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  await once(child, "close");
  return { stdout, stderr };
}

test("lines are JSON with level and time, on the requested stream, even if the process exits at once", async () => {
  const { stdout, stderr } = await runWithLog(`
    createLog("info", "stdout").info({ route: "/v1/me" }, "request finished");
    createLog("warn", "stderr").info("not this");
    createLog("warn", "stderr").warn({ err: Object.assign(new Error("m"), { detail: "SECRET" }) }, "careful");
    process.exit(0);`);
  expect(JSON.parse(stdout)).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    route: "/v1/me",
    msg: "request finished",
  });
  expect(JSON.parse(stderr)).toMatchObject({ level: "warn", msg: "careful", err: { type: "Error", message: "m" } });
  expect(stderr).not.toContain("SECRET");
});

describe("on a terminal", () => {
  function read(line: object): string {
    const lines: string[] = [];
    readableStream({ write: (text) => lines.push(text) }).write(JSON.stringify(line));
    return lines.join("");
  }

  test("a line has time, level, message, and fields", () => {
    const line = {
      level: "info",
      time: "2026-11-20T12:04:05.123Z",
      route: "/v1/me",
      status: 200,
      msg: "request finished",
    };
    expect(read(line)).toBe("12:04:05 info  request finished route=/v1/me status=200\n");
  });

  test("an error follows with its stack, or with its message if it has none", () => {
    const line = { level: "error", time: "2026-11-20T12:04:05.123Z", msg: "failed" };
    expect(read({ ...line, err: { stack: "Error: m\n    at x" } })).toContain("\n  Error: m\n    at x\n");
    expect(read({ ...line, err: { message: "m" } })).toContain("\n  m\n");
  });
});

test("silent writes nothing, not even errors", () => {
  expect(createLog("silent").isLevelEnabled("fatal")).toBe(false);
});

test("a log on a full disk ends no process: lines wait for room, and what was lost meanwhile is reported", async () => {
  const { stdout, stderr } = await runWithLog(`
    import fs from "node:fs";
    const writeSync = fs.writeSync;
    fs.writeSync = () => {
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    };
    const log = createLog("info", "stdout");
    log.info("first");
    for (let i = 0; i < 20_000; i += 1) log.info("many");
    fs.writeSync = writeSync;
    log.info("lost");
    log.info("last");`);
  expect(stderr).toBe("");
  const lines = stdout.split("\n").filter((line) => line !== "");
  const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  const missing = "lines are missing from the log here, because it could not be written";
  expect([messages[0], ...messages.slice(-3)]).toEqual(["first", "many", missing, "last"]);
});
