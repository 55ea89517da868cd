/** The performance page, for invented records of every kind: quiet and busy, complete and with gaps. */
import { describe, expect, test } from "vitest";
import { describeChart, drawChart } from "../../../../scripts/performance-chart.ts";
import { describePerformance } from "../../../../scripts/performance-page.ts";
import { parseRecord, type Machine, type ReadRecord, type Records } from "../../../../scripts/performance-records.ts";

const of = (median: number) => ({ median, min: 1, max: 2 });

const QUIET: Omit<Machine, "sizes"> = {
  machine: "2 x Test",
  memoryGb: 8,
  kernel: "6.1.0-test",
  isVirtual: false,
  otherWork: { before: 0.01, after: 0.2 },
  node: "v24.0.0",
  database: "PostgreSQL 18.4",
  commit: "abc1234",
  at: "2026-11-23T12:00:00.000Z",
  flushMs: of(0.5),
};
const BUSY = { ...QUIET, otherWork: { before: 0.01, after: 0.21 } };

const load = (perSecond: number, p50Ms: number) => ({
  perSecond: of(perSecond),
  p50Ms: of(p50Ms),
  p95Ms: of(p50Ms * 3),
  serverMs: of(0.7),
  databaseMs: of(0.6),
  modelsMs: of(0.077),
  loadMs: of(0.05),
});
const queue = (name: string, perSecond: number) => ({
  name,
  version: name === "promptd" ? null : "1.2.3",
  perSecond: of(perSecond),
  p50Ms: of(31),
  p95Ms: of(62),
  processMs: of(0.41),
  databaseMs: of(0.29),
});
const peer = (name: string, rate: number) => ({
  name,
  version: "1.2.3",
  rate: of(rate),
  p50OfOne: of(2.25),
  serverMs: of(1.35),
});

const RECORDS: { readonly [Name in keyof Records]: Omit<Records[Name], "database"> } = {
  "create-run": {
    sizes: { rounds: 5, seconds: 4 },
    loads: {
      "promptd one": load(401, 3.51),
      "promptd many": load(1_801, 30),
      "model server one": load(40_001, 0.02),
      "genkit one": { ...load(1_201, 1.02), databaseMs: { median: 0, min: 0, max: 0 } },
      "genkit many": load(1_901, 29),
      "genkit, storing one": load(301, 2.12),
      "mastra many": load(451, 140),
      "portkey many": load(2_401, 26),
      "promptd hot": load(1_501, 33),
    },
    hotAccount: of(0.83),
    besidePeers: [peer("genkit", 0.947), peer("genkit, storing", 2.31), peer("mastra", 3.99), peer("portkey", 0.743)],
  },
  "queue-throughput": {
    sizes: { rounds: 5, jobs: 3_000, producers: 50 },
    queues: [queue("promptd", 4_001), queue("pg-boss", 1_001), queue("graphile-worker", 2_501)],
    besidePeers: [
      { name: "pg-boss", rate: of(4.01) },
      { name: "graphile-worker", rate: of(1.61) },
    ],
  },
  "http-edge": {
    sizes: { rounds: 5, seconds: 3 },
    targets: { "static route": load(9_001, 7), "GET /v1/me": load(4_501, 14) },
    meToStatic: { rate: of(0.501), serverMs: of(1.81) },
    staticToBare: { rate: of(0.611), serverMs: of(1.63) },
  },
  claims: {
    sizes: { queued: 100_000, ended: 1_000_000 },
    results: [{ queued: 500, ended: 1_000, pages: 1_001, ms: of(2.7) }],
    mostToLeast: 1.07,
  },
  "two-workers": {
    sizes: { rounds: 5, runs: 2_000, modelMs: 200 },
    perSecond: { one: of(611), two: of(1_009) },
    twoToOne: of(1.59),
  },
  "run-list": {
    sizes: { runs: 1_000_000 },
    rows: 50,
    results: [{ runs: 100_000, pages: [{ name: "newest", buffers: 7, buffersUpdated: 61, ms: of(0.9) }] }],
    selectOneMs: of(0.12),
  },
  recovery: {
    sizes: { kills: 10, runs: 20, crashes: 5 },
    leaseMs: 6_000,
    reclaimMs: { median: 6_510, min: 1_000, max: 2_000, p99: 7_770 },
    crashMs: { median: 1_230, min: 1_000, max: 2_000 },
  },
  "start-up": {
    sizes: { rounds: 10 },
    starts: [
      { name: "bare Node", ms: of(100), besideBare: of(1) },
      { name: "promptd", ms: of(290), besideBare: of(2.9) },
    ],
  },
  memory: {
    sizes: { idleSeconds: 30, runs: 100_000, parallel: 64 },
    idleMib: { promptd: 151, bareNode: 44 },
    perSecond: 385,
    growth: 1.02,
    faults: 0,
    samples: [],
  },
  "waiting-10k": {
    sizes: { waits: 10_000, holdSeconds: 120, wakes: 300, quietSeconds: 30 },
    waits: 10_000,
    heldSeconds: 120,
    bytesPerWait: 12_600,
    bareNodeHttp: { bytesPerWait: 9_100, ratio: 1.4 },
    rssMiB: { before: 100, after: 220 },
    wakeMs: { p50: 0.7, p99: 1.3 },
    sigterm: { answered504: 9_700, answered200: 300, reset: 0, ms: 690, exitCode: 0 },
  },
};

type Changes = { readonly [Name in keyof Records]?: Partial<Records[Name]> };

/** As read from their files: through JSON. */
function readOf(machine: Omit<Machine, "sizes">, changes: Changes = {}): ReadRecord {
  return (name) => parseRecord(name, JSON.stringify({ case: name, ...machine, ...RECORDS[name], ...changes[name] }));
}

const rowOf = (page: string, begin: string) =>
  page
    .split("\n")
    .find((line) => line.startsWith(`| ${begin} |`))
    ?.slice(begin.length + 5, -2);

const quiet = describePerformance(readOf(QUIET));

describe("a quiet record judges the goal", () => {
  test.each([
    ["Rate at 64 callers, compared with genkit", "at least 0.9 | 0.947 (1 to 2) | met"],
    ["Rate at 64 callers, compared with mastra", "at least 4 | 3.99 (1 to 2) | **missed**"],
    [
      "p50 of one caller: 2.5 times genkit's plus flushing two pages to disk",
      "at most 3.55 ms | 3.51 (1 to 2) ms | met",
    ],
    ["Processor time per run at 64 callers: API, worker, and database", "at most 1.5 ms | 1.3 ms | met"],
    ["Rate of one account, compared with 50 accounts", "at least 0.8 | 0.83 (1 to 2) | met"],
    ["Queue: rate compared with pg-boss", "at least 2 | 4.01 (1 to 2) | met"],
    ["Queue: rate compared with graphile-worker", "at least 2 | 1.61 (1 to 2) | **missed**"],
    ["Rate of GET /v1/me, compared with the static route", "at least 0.45 | 0.501 (1 to 2) | met"],
    [
      "Pages that the database reads for a claim: longest queue and history, compared with the shortest",
      "at most 1.5 x | 1.07 x | met",
    ],
    [
      "Rate of two worker processes, compared with one, with a model that takes 200 ms",
      "at least 1.6 | 1.59 (1 to 2) | **missed**",
    ],
    ["Pages that the database reads for 50 runs, the worst of all lists", "at most 60 | 61 | **missed**"],
    ["Time until a dead worker's run is claimed again, p99", "at most 10 s | 7.77 s | met"],
    ["Start to first 200, compared with a bare Node process", "at most 3 x | 2.9 (1 to 2) x | met"],
    ["Idle memory after a first start, without the database", "at most 150 MiB | 151 MiB | **missed**"],
    ["Memory after 10,000 runs, compared with before", "at most 1.1 x | 1.02 x | met"],
    ["Memory per waiting request", "at most 20 kB | 12.6 kB | met"],
  ])("%s", (what, rest) => {
    expect(rowOf(quiet, what)).toBe(rest);
  });
});

describe("the page shows", () => {
  test.each([
    [
      "creates, with the time of every process",
      "| genkit 1.2.3 | 1 | 1,200 (1 to 2) | 1.02 (1 to 2) | 3.06 | 0.7 | none | 0.077 | 0.05 |",
    ],
    [
      "the time of the database for a peer that stores",
      "| genkit, storing 1.2.3 | 1 | 301 (1 to 2) | 2.12 (1 to 2) | 6.36 | 0.7 | 0.6 | 0.077 | 0.05 |",
    ],
    [
      "all ratios of every peer, including peers without a goal",
      "| portkey | 0.743 (1 to 2) | 2.25 (1 to 2) | 1.35 (1 to 2) |",
    ],
    ["queues", "| pg-boss 1.2.3 | 1,000 (1 to 2) | 31 (1 to 2) | 62 | 0.41 | 0.29 |"],
    [
      "when a job is done",
      "A promptd job counts as done once the transaction that ends its run is committed; a peer's job once its handler ends",
    ],
    ["the edge", "| GET /v1/me | 4,500 (1 to 2) | 14 (1 to 2) | 0.7 | 0.6 |"],
    ["what a key costs", "| GET /v1/me compared with the static route | 0.501 (1 to 2) | 1.81 (1 to 2) |"],
    ["what routing costs", "| the static route compared with bare node:http | 0.611 (1 to 2) | 1.63 (1 to 2) |"],
    ["claims", "| 500 | 1,000 | 1,000 | 2.7 (1 to 2) |"],
    ["two workers next to one", "| 2 | 1,010 (1 to 2) |"],
    ["lists", "| 100,000 | newest | 7 | 61 | 0.9 |"],
    ["reclaims", "| SIGKILL of the worker (lease 6 s) | another worker claims its runs | 6.51 (1 to 2), p99 7.77 |"],
    ["crashes", "| database crash | the first run returns its result | 1.23 (1 to 2) |"],
    ["starts", "| promptd | 290 (1 to 2) | 2.9 (1 to 2) |"],
    [
      "idle memory, and what it includes",
      "promptd uses 151 MiB without its database; a bare Node process with one connection uses 44 MiB.",
    ],
    ["grown memory", "Over 100,000 runs, peak memory is 1.02 times the peak of the first 10,000."],
    ["waiting requests", "10,000 requests wait in one process: 12.6 kB each (node:http alone 9.1 kB)."],
    [
      "wakes and the drain",
      "after 0.7 ms (p50) and 1.3 ms (p99); after SIGTERM, all of them have a response in 0.69 s.",
    ],
    ["how often and how long", "*rounds 5, seconds 4, 2 x Test, 8 GiB, Linux 6.1.0, Node 24.0.0, PostgreSQL 18.4, "],
  ])("%s", (_what, text) => {
    expect(quiet).toContain(text);
  });
});

test("a record from a busy machine shows its figures and judges no goal", () => {
  const page = describePerformance(readOf(BUSY));
  expect(rowOf(page, "Memory per waiting request")).toBe("at most 20 kB | 12.6 kB, busy machine | not judged");
  expect(page).not.toMatch(/\| met \||\*\*missed\*\*/);
  expect(page.match(/A busy machine/g)).toHaveLength(Object.keys(RECORDS).length);
});

test("every goal without a record is listed as not measured", () => {
  const goalsOf = (page: string) =>
    page
      .slice(0, page.indexOf("## From create to result"))
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((line) => line.split(" | "));
  const [without, whole] = [goalsOf(describePerformance(() => null)), goalsOf(quiet)];
  expect(without.map(([what]) => what)).toEqual(whole.map(([what]) => what));
  expect(new Set(without.slice(1).map(([, , measured]) => measured))).toEqual(new Set(["not measured"]));
});

test("a missing measurement is shown as not measured, rather than as 0 and met", () => {
  const nothing = { median: NaN, min: NaN, max: NaN };
  const changes: Changes = {
    "create-run": {
      besidePeers: [{ ...peer("genkit", 1), rate: nothing }],
      loads: { "promptd many": { ...load(1, 1), serverMs: nothing } },
    },
    "waiting-10k": { bytesPerWait: NaN },
    recovery: { reclaimMs: { ...nothing, p99: NaN } },
    memory: { growth: null },
  };
  const page = describePerformance(readOf(QUIET, changes));
  for (const [what, wanted] of [
    ["Rate at 64 callers, compared with genkit", "at least 0.9"],
    ["Rate at 64 callers, compared with mastra", "at least 4"],
    ["p50 of one caller: 2.5 times genkit's plus flushing two pages to disk", "at most that sum"],
    ["Processor time per run at 64 callers: API, worker, and database", "at most 1.5"],
    ["Memory per waiting request", "at most 20"],
    ["Time until a dead worker's run is claimed again, p99", "at most 10"],
    ["Memory after 10,000 runs, compared with before", "at most 1.1"],
  ] as const)
    expect(rowOf(page, what)).toMatch(new RegExp(`^${wanted}[^|]*\\| not measured \\| $`));
  expect(page).not.toMatch(/NaN|null|undefined/);
});

describe("the README", () => {
  test("shows a chart of a quiet record with peers, and how to measure", () => {
    const chart = drawChart(readOf(QUIET));
    expect(chart).toContain("Medians of 5 interleaved rounds of 4 s");
    for (const name of ["promptd", "genkit", "mastra", "portkey (proxy)"]) expect(chart).toContain(`>${name}</text>`);
    expect(describeChart(readOf(QUIET))).toContain("](docs/screens/performance.svg)");
  });
  test.each([
    ["a busy one", readOf(BUSY)],
    ["one without peers", readOf(QUIET, { "create-run": { besidePeers: [] } })],
    ["none", () => null],
  ] as const)("says how to measure in place of a chart of %s", (_what, read) => {
    expect(drawChart(read)).toBeNull();
    const text = describeChart(read);
    expect(text).toContain("npm run bench -- create-run --peers");
    expect(text).not.toContain("![");
  });
});
