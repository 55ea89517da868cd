import { describe, expect, test } from "vitest";
import { readCommandLine, sizesOf, whyNotKept, type BenchOptions } from "./command-line.ts";

const KNOWN = ["create-run", "recovery"] as const;
const read = (...argv: string[]) => readCommandLine(argv, KNOWN);

const optionsOf = (...argv: string[]): BenchOptions<string> => {
  const result = read(...argv);
  if (result.kind !== "options") throw new Error(JSON.stringify(result));
  return result.options;
};

test("without arguments, the benchmarks are listed", () => {
  expect(read()).toEqual({ kind: "list" });
});

test("several benchmarks run one after another, with their options", () => {
  const argv = ["create-run", "recovery", "--quick", "--peers", "--database", "postgres", "--json", "out.json"];
  expect(optionsOf(...argv, "--rounds", "7", "--set", "kills=3")).toEqual({
    names: ["create-run", "recovery"],
    isQuick: true,
    hasPeers: true,
    database: "postgres",
    before: null,
    json: "out.json",
    sizes: { rounds: 7, kills: 3 },
  });
});

describe("an invalid argument is rejected before anything is started:", () => {
  test.each([
    ["an unknown benchmark", ["creat-run"], '"creat-run" is not a benchmark. Benchmarks: create-run, recovery.'],
    ["options without a benchmark", ["--quick"], "Name at least one benchmark."],
    ["an unknown option", ["recovery", "--fast"], "--fast"],
    ["rounds that are not a number", ["recovery", "--rounds", "many"], '"rounds=many" is not NAME=N'],
    ["no rounds at all", ["recovery", "--rounds", "0"], '"rounds=0" is not NAME=N'],
    ["a size without a number", ["recovery", "--set", "kills"], '"kills" is not NAME=N'],
    ["an unknown database", ["recovery", "--database", "mysql"], "--database must be embedded or postgres"],
  ])("%s", (_what, argv, sentence) => {
    const result = read(...argv);
    expect(result.kind === "refused" ? result.faults.join(" ") : result.kind).toContain(sentence);
  });
});

test("a size is the given size, or else the default for a quick or full measurement", () => {
  const own = { rounds: [5, 2], kills: [10, 1] } as const;
  expect(sizesOf(own, optionsOf("recovery"))).toEqual({ rounds: 5, kills: 10 });
  expect(sizesOf(own, optionsOf("recovery", "--quick", "--set", "kills=4"))).toEqual({ rounds: 2, kills: 4 });
});

describe("a published record is replaced", () => {
  const [comparing, alone] = [{ comparesPeers: true }, {}] as const;
  test.each([
    ["by a full measurement", alone, [], null],
    ["by a full comparison", comparing, ["--peers"], null],
    ["not by a comparison without peers", comparing, [], "it had no peers (--peers)"],
    ["not by a quick measurement", alone, ["--quick"], "it was a quick measurement"],
    ["not by a measurement with fewer rounds", comparing, ["--peers", "--rounds", "2"], "it had other sizes"],
    ["not by a measurement with another size", alone, ["--set", "kills=1"], "it had other sizes"],
  ])("%s", (_what, one, argv, why) => {
    expect(whyNotKept(one, optionsOf("recovery", ...argv))).toBe(why);
  });
});
