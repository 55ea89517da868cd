import { defineConfig } from "vitest/config";
import usual from "./vitest.config.ts";

/** The tests that mutants of the TypeScript rules are run against (stryker.config.json); the whole suite would take days. */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    include: [
      "packages/server/src/accounts/*.test.ts",
      "packages/server/src/credits/*.test.ts",
      "packages/server/src/files/signed-urls.test.ts",
      "packages/server/src/http/failed-entries.test.ts",
      "packages/server/src/prompts/{render-step,template-scan,publish,prompt-file}.test.ts",
      "packages/server/test/{files,ledger,ledger-rules,limiter,limiter-flood,limiter-rules,queue}.test.ts",
      "packages/server/test/wire/{authentication.401,rate-limit.429,run-states}.test.ts",
    ],
    reporters: ["default"],
    env: { PROMPTD_TEST_LEDGER_SEQUENCES: "10", PROMPTD_TEST_BRIEF: "1" },
  },
});
