import { defineConfig } from "vitest/config";
import usual from "./vitest.config.ts";

/** The tests that run against mutants of the TypeScript rules (stryker.config.json); the whole suite would take days. */
const TESTS = [
  "packages/server/src/accounts/*.test.ts",
  "packages/server/src/credits/*.test.ts",
  "packages/server/src/files/outputs/signed-urls.test.ts",
  "packages/server/src/http/request/failed-admissions.test.ts",
  "packages/server/src/prompts/*/{author-fields,render-step,template-language,template-scan}.test.ts",
  "packages/server/src/runs/run-state.test.ts",
  "packages/server/test/accounts/key-*.test.ts",
  "packages/server/test/credits/ledger*.test.ts",
  "packages/server/test/*/{file-keys,http-edge}.test.ts",
];
/**
 * Selects some of them, separated by commas, for one file: each mutant starts a process for every test file that reaches it.
 * `PROMPTD_MUTATION_TESTS=packages/server/test/accounts/key-plan-and-rate-limit.test.ts npm run mutate -- --mutate packages/server/src/accounts/key-plan-and-rate-limit.ts`
 */
const chosen = process.env["PROMPTD_MUTATION_TESTS"]?.split(",");

export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    include: chosen ?? TESTS,
    globalSetup: "packages/server/test/support/global-setup.ts", // none of these opens a console page
    execArgv: [], // mutants run in threads, which do not accept heap settings
    reporters: ["default"],
    isolate: true, // a mutant of code that runs while a module loads needs a newly loaded module
  },
});
