import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The file to which results are also written as JSON, for a caller that counts them (.ci/run). */
const jsonFile = process.env["VITEST_JSON_FILE"];

/** They kill and stop processes, break the database, the network, and the file store, and take minutes: `npm run test:faults`. */
export const FAULT_TESTS = "packages/**/faults-*.test.ts";

/**
 * What happens on a new machine, which takes a third of all test time: whole first starts with their own cluster and
 * marketplace, every command in the README and the docs, every page of the console, the journeys of readers, authors,
 * owners, and operators, and search compared with its peers: `npm run test:long`. Signing in and the path to a finished
 * run stay in `npm test`.
 */
export const LONG_TESTS = [
  "packages/cli/test/{docs-blocks,move-secret,readme-providers,start,start-database,terminal}.test.ts",
  "packages/console/test/{author-journeys,browse-journeys,operator-journeys,page-states,pages,settings-journeys}.test.ts",
  "packages/server/test/platform/{embedded,program-before}.test.ts",
  "packages/server/test/search/search-comparison.test.ts",
];

/**
 * The slowest files start first: a slow file that starts last would run alone at the end. Those of `npm test` alternate
 * between files that compute and files that wait.
 */
const LONGEST = [
  "faults-points-kill",
  "faults-database",
  "start-database",
  "faults-crash",
  "faults-drain",
  "faults-start",
  "faults-storage-outage",
  "faults-first-start",
  "start",
  "pages",
  "page-states",
  "author-journeys",
  "settings-journeys",
  "browse-journeys",
  "operator-journeys",
  "main-journeys",
  "embedded",
  "docs-blocks",
  "readme-providers",
  "move-secret",
  "search-quality",
  "webhook-deliveries",
  "journeys",
  "run-once",
  "access-journeys",
  "database",
].map((name) => `/${name}.test.ts`);

/**
 * These mostly wait for periods, processes, and time limits, so they are spread among the others: next to each other,
 * they left a quarter of the processor time idle for twenty seconds.
 */
const WAITING = [
  "own-names",
  "s3-blobs",
  "busy-account",
  "odd-job-answers",
  "batch-rest",
  "python-client",
  "create-run.504",
  "process",
  "worker",
  "mcp-http",
  "batch-commands",
  "create-run.410",
  "run-states",
  "releases-beside",
  "periodic-work",
  "secrets",
].map((name) => `/${name}.test.ts`);

/** The longest first, in the order of their list; then the waiting files among the first two thirds of the rest. */
class BusyThroughout extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const find = (names: readonly string[]) =>
      names.flatMap((name) => sorted.filter(({ moduleId }) => moduleId.endsWith(name)));
    const [longest, waiting] = [find(LONGEST), find(WAITING)];
    const rest = sorted.filter((file) => !longest.includes(file) && !waiting.includes(file));
    const distance = Math.ceil((rest.length * 2) / 3 / Math.max(1, waiting.length));
    const spread = waiting.flatMap((file, i) => [file, ...rest.slice(i * distance, (i + 1) * distance)]);
    return [...longest, ...spread, ...rest.slice(waiting.length * distance)];
  }
}

export default defineConfig({
  // The `promptd-source` condition resolves packages to their TypeScript sources; without it, a stale dist is loaded.
  resolve: { conditions: ["promptd-source"] },
  ssr: { resolve: { conditions: ["promptd-source"], externalConditions: ["promptd-source"] } },
  test: {
    include: ["packages/**/*.test.ts", "bench/**/*.test.ts"],
    exclude: [...configDefaults.exclude, FAULT_TESTS, ...LONG_TESTS],
    globalSetup: "packages/console/test/support/global-setup.ts",
    reporters: jsonFile === undefined ? ["default"] : ["default", ["json", { outputFile: jsonFile }]],
    // Many tests wait for a database or a process. On two cores, four workers leave a quarter idle, five 7%, and eight
    // nothing, but eight take a fifth more processor time for the same tests
    // (docs/decisions/2026-11-27-what-tests-cost.md). A run of all checks prefers a sure result to a fast one: three leave
    // each test enough of a machine that is busy with other work.
    maxWorkers: jsonFile === undefined ? Math.max(5, availableParallelism()) : 3,
    // A worker runs many files: reloading the sources for each took a third of the processor time (2026-11-22).
    isolate: false,
    // A worker does not live long enough for V8's memory management to pay off. With the defaults, young objects fill
    // their 16 MiB, and old ones the initial space, so often that collecting them took a tenth of the processor time. Five
    // processes on two cores gain nothing from several collector threads, and unused code that is dropped is compiled
    // again for the next file (2026-11-27).
    execArgv: [
      "--max-semi-space-size=64",
      "--initial-old-space-size=512",
      "--single-threaded-gc",
      "--no-flush-bytecode",
    ],
    sequence: { sequencer: BusyThroughout },
    // Like `eventually` in the tests: a busy machine may need more than the default second.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 180_000,
    // If everything fails, for example without a browser, each test would wait for its time limit.
    bail: jsonFile === undefined ? 0 : 20,
    hookTimeout: 120_000,
  },
});
