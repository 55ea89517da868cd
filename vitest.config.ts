import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Where a caller that counts results (.ci/run) wants them as JSON, beside the usual output. */
const jsonFile = process.env["VITEST_JSON_FILE"];

/** They kill and stop processes and break the database, the network and the file store, and take minutes: `npm run test:faults`. */
export const FAULT_TESTS = "packages/**/faults-*.test.ts";

/**
 * What a fresh machine meets, which takes a third of all test time: whole first starts with a cluster and a marketplace
 * of their own, every command of the README and the docs, every page of the console, the ways of readers, authors, owners
 * and operators through it, and search beside its peers: `npm run test:long`. The ways in and to a finished run stay in
 * `npm test`.
 */
export const LONG_TESTS = [
  "packages/cli/test/{docs-blocks,move-secret,readme-providers,start,start-database,terminal}.test.ts",
  "packages/console/test/{author-journeys,browse-journeys,operator-journeys,page-states,pages,settings-journeys}.test.ts",
  "packages/server/test/platform/{embedded,program-before}.test.ts",
  "packages/server/test/search/search-comparison.test.ts",
];

/**
 * They take longest, so they start first: one that began last would run alone in the end. Those of `npm test` alternate
 * between what works and what waits.
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
 * They wait for periods, processes and time limits longer than they work, so they are spread among the others: side by
 * side they left a quarter of the processor idle for twenty seconds.
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

/** The longest first, in the order of their list; those that wait among two thirds of the rest: the last are over at once. */
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
  // The `promptd-source` condition leads from package to package to the TypeScript sources; without it a stale dist is loaded.
  resolve: { conditions: ["promptd-source"] },
  ssr: { resolve: { conditions: ["promptd-source"], externalConditions: ["promptd-source"] } },
  test: {
    include: ["packages/**/*.test.ts", "bench/**/*.test.ts"],
    exclude: [...configDefaults.exclude, FAULT_TESTS, ...LONG_TESTS],
    globalSetup: "packages/console/test/support/global-setup.ts",
    reporters: jsonFile === undefined ? ["default"] : ["default", ["json", { outputFile: jsonFile }]],
    // Many tests wait for a database or a process: four leave a quarter of two cores idle, five 7 %, eight nothing, but
    // they need a fifth more of the processor for the same (docs/decisions/2026-11-27-what-tests-cost.md).
    maxWorkers: Math.max(5, availableParallelism()),
    // A worker runs many files: loading the sources anew for each took a third of the processor time (2026-11-22).
    isolate: false,
    // Nothing of a worker lives long enough to be worth the care that V8 takes of memory. Young objects fill the usual 16
    // MiB, and old ones the first few, so often that collecting them took a tenth of the processor time; five processes on
    // two cores win nothing by collecting with several threads; and code that is dropped when it rests is compiled again
    // for the next file (2026-11-27).
    execArgv: [
      "--max-semi-space-size=64",
      "--initial-old-space-size=512",
      "--single-threaded-gc",
      "--no-flush-bytecode",
    ],
    sequence: { sequencer: BusyThroughout },
    // As `eventually` of the tests: a busy machine may need more than the usual second.
    expect: { poll: { timeout: 40_000 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
