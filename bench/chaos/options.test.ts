import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readOptions, USAGE, type ChaosOptions } from "./options.ts";

function optionsOf(text: string): ChaosOptions {
  const read = readOptions(text.split(" "));
  if (read.kind !== "options") throw new Error(`not taken: ${JSON.stringify(read)}`);
  return read.options;
}

function faultsOf(...argv: readonly string[]): readonly string[] {
  const read = readOptions(argv);
  return read.kind === "refused" ? read.faults : [];
}

describe("the options of a chaos run", () => {
  test("have the defaults of the usage text", () => {
    expect(optionsOf("--seed 7")).toEqual({
      kills: 30,
      seed: 7,
      database: "embedded",
      apis: 2,
      workers: 3,
      leaseMs: 6_000,
      minutes: 120,
      accounts: 12,
      out: join(import.meta.dirname, "../results/chaos-embedded-7.json"),
      isPlanOnly: false,
    });
    expect(readOptions([])).toMatchObject({ kind: "options", options: { seed: process.pid } });
  });

  test("are used as given", () => {
    const given = "--kills=5 --seed 0 --database postgres --apis 1 --workers 8 --lease-ms 300 --minutes 1 --accounts 2";
    expect(optionsOf(`${given} --out result.json --plan`)).toEqual({
      kills: 5,
      seed: 0,
      database: "postgres",
      apis: 1,
      workers: 8,
      leaseMs: 300,
      minutes: 1,
      accounts: 2,
      out: "result.json",
      isPlanOnly: true,
    });
  });

  test.each([
    [["--kills", "abc"], '--kills must be a whole number from 1 to 100000, got "abc".'],
    [["--kills", "2.5"], '--kills must be a whole number from 1 to 100000, got "2.5".'],
    [["--kills", "-3"], '--kills must be a whole number from 1 to 100000, got "-3".'],
    [["--kills", "0"], '--kills must be a whole number from 1 to 100000, got "0".'],
    [["--kills", "0x10"], '--kills must be a whole number from 1 to 100000, got "0x10".'],
    [["--kills", ""], '--kills must be a whole number from 1 to 100000, got "".'],
    [["--kills"], "--kills must be a whole number from 1 to 100000, got none."],
    [["--seed", "foo"], '--seed must be a whole number from 0 to 4294967295, got "foo".'],
    [["--database", "postgresql"], '--database must be embedded or postgres, got "postgresql".'],
    [["--apis", "x"], '--apis must be a whole number from 1 to 8, got "x".'],
    [["--workers", "9"], '--workers must be a whole number from 1 to 8, got "9".'],
    [["--lease-ms", "299"], '--lease-ms must be a whole number from 300 to 60000, got "299".'],
    [["--minutes", "--plan"], '--minutes must be a whole number from 1 to 10080, got "--plan".'],
    [["--accounts", "1"], '--accounts must be a whole number from 2 to 100, got "1".'],
    [["--out", ""], '--out must be a file, got "".'],
    [["--plan=yes"], '--plan does not accept a value, got "yes".'],
    [["--kill", "5"], "Unknown option: --kill."],
    [["--constructor"], "Unknown option: --constructor."],
    [["-k", "5"], "Unknown option: -k."],
    [["30"], '"30" is not an option.'],
  ])("refuse %j with a sentence", (argv, fault) => {
    expect(faultsOf(...argv)).toContain(fault);
  });

  test("refuse a fleet in which nobody could replace a victim", () => {
    expect(faultsOf("--apis", "1", "--workers", "1")).toEqual([
      expect.stringContaining("Set one of the two to at least 2"),
    ]);
    expect(faultsOf("--apis", "1", "--workers", "2")).toEqual([]);
  });

  test("report all faults at once", () => {
    expect(faultsOf("--kills", "abc", "--seed", "foo")).toHaveLength(2);
  });

  test("are explained whatever other options are given", () => {
    expect(readOptions(["--kills", "abc", "--help"])).toEqual({ kind: "help" });
    for (const name of ["kills", "seed", "database", "apis", "workers", "minutes", "plan"])
      expect(USAGE).toContain(`--${name}`);
  });
});

describe("the program", () => {
  const chaos = (...argv: readonly string[]) =>
    spawnSync(process.execPath, ["--conditions=promptd-source", join(import.meta.dirname, "../chaos.ts"), ...argv], {
      encoding: "utf8",
    });

  test("exits with 2, a sentence, and its usage when an option is invalid, and does nothing", () => {
    const { status, stdout, stderr } = chaos("--kills", "abc", "--seed", "7");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toBe(`chaos: --kills must be a whole number from 1 to 100000, got "abc".\n\n${USAGE}\n`);
  });

  test("detects before it starts that its result cannot be written", () => {
    const { status, stderr } = chaos("--out", import.meta.dirname);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^chaos: --out must be a file that can be written, got .* \(EISDIR\)\.\n\nUsage/);
  });

  test("prints its usage when asked", () => {
    expect(chaos("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("--kills N") });
  });

  test("prints the plan of a seed", () => {
    const { status, stdout } = chaos("--kills", "2", "--seed", "7", "--plan");
    expect(status).toBe(0);
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toEqual({
      seed: 7,
      processes: { api: 2, worker: 3 },
      planned: { kill: 2, term: 2, freeze: 2, backend: 2, cut: 2, crash: 2 },
    });
  });
});
