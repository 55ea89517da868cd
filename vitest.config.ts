import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

/** Where a caller that counts results (.ci/run) wants them as JSON, beside the usual output. */
const jsonFile = process.env["VITEST_JSON_FILE"];

/** How often a failed test is tried again: never, but in .ci/run, which names every test that needed it. */
const retry = Number(process.env["VITEST_RETRY"] ?? "0");

/** They break the database, the network and processes on purpose and take minutes: `npm run test:faults`. */
export const FAULT_TESTS = "packages/**/faults-*.test.ts";

export default defineConfig({
  // The `promptd-source` condition leads from package to package to the TypeScript sources; without it a stale dist is loaded.
  resolve: { conditions: ["promptd-source"] },
  ssr: { resolve: { conditions: ["promptd-source"], externalConditions: ["promptd-source"] } },
  test: {
    include: ["packages/**/*.test.ts", "bench/**/*.test.ts"],
    exclude: [...configDefaults.exclude, FAULT_TESTS],
    globalSetup: ["packages/server/test/support/global-setup.ts"],
    reporters: jsonFile === undefined ? ["default"] : ["default", ["json", { outputFile: jsonFile }]],
    // Most tests wait for a database or a process, so two files at once fit on one core.
    maxWorkers: Math.max(2, availableParallelism()),
    retry,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
