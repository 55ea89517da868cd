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

/** They take longest, so they start first: one that began last would run alone in the end. */
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
  "main-journeys",
  "embedded",
  "docs-blocks",
  "readme-providers",
  "move-secret",
  "search-quality",
  "seed-start",
  "webhook-deliveries",
  "run-once",
  "batches",
  "operator-journeys",
  "access-journeys",
  "journeys",
  "own-names",
  "s3-blobs",
  "database",
  "busy-account",
  "odd-job-answers",
  "batch-rest",
  "create-run.504",
  "check-history",
  "mcp-tools",
  "batch-commands",
].map((name) => `/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
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
    // Short-lived objects fill the usual 16 MiB so often that collecting them took a quarter of a test server's time (2026-11-23).
    execArgv: ["--max-semi-space-size=32"],
    sequence: { sequencer: LongestFirst },
    // As `eventually` of the tests: a busy machine may need more than the usual second.
    expect: { poll: { timeout: 40_000 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
