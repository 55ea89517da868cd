import { defineConfig } from "vitest/config";

/** Where a caller that counts results (.ci/run) wants them as JSON, beside the usual output. */
const jsonFile = process.env["VITEST_JSON_FILE"];

export default defineConfig({
  // The `promptd-source` condition leads from package to package to the TypeScript sources; without it a stale dist is loaded.
  resolve: { conditions: ["promptd-source"] },
  ssr: { resolve: { conditions: ["promptd-source"], externalConditions: ["promptd-source"] } },
  test: {
    include: ["packages/**/*.test.ts"],
    globalSetup: ["packages/server/test/database-server.ts"],
    reporters: jsonFile === undefined ? ["default"] : ["default", ["json", { outputFile: jsonFile }]],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
