/** One Vitest and one database server for all mutants: each run clones its databases from the current template. */
import { join } from "node:path";
import { createVitest, type Vitest } from "vitest/node";
import { openConnection } from "../../packages/server/src/platform/database/database.ts";
import { withDatabase } from "../../packages/server/test/support/database-url.ts";
import type { TestDatabaseServer } from "../../packages/server/test/support/global-setup.ts";

const ROOT = join(import.meta.dirname, "../..");
const TESTS = join(ROOT, "packages/server/test");
/** Detects a mutant that makes a test wait forever. Without mutants, the slowest test takes a fifth of this. */
const TEST_MS_MAX = 40_000;
/** No test runs between two mutants. Anything still running is the previous mutant's endless loop, which would slow all others. */
const END_WHAT_RUNS = `select pg_terminate_backend(pid) from pg_stat_activity
  where backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()`;

export interface TestRuns {
  /**
   * Runs files up to the first that fails twice, because on a busy machine a test may fail once by chance. It begins with
   * the file that failed last, which often fails for the next mutant too, and continues in order. Null: none fails.
   */
  firstFailure(files: readonly string[]): Promise<string | null>;
  /** Replaces a function in the template. @throws the database's error for a text that is not a function. */
  apply(statement: string): Promise<void>;
  close(): Promise<void>;
}

export async function openTestRuns(environment: Readonly<Record<string, string>>): Promise<TestRuns> {
  const vitest = await createVitest(
    "test",
    { root: ROOT, watch: false, bail: 1, reporters: [{}], testTimeout: TEST_MS_MAX, env: { ...environment } },
    { logLevel: "silent" },
  );
  let failedLast = "";
  return {
    firstFailure: async (files) => {
      for (const file of files.toSorted((a, b) => Number(b === failedLast) - Number(a === failedLast))) {
        const failure = await runFile(vitest, file);
        if (failure === null || (await runFile(vitest, file)) === null) continue;
        failedLast = file;
        return failure;
      }
      return null;
    },
    apply: async (statement) => {
      const { url, template }: TestDatabaseServer = vitest.getRootProject().getProvidedContext().database;
      const client = openConnection(withDatabase(url, template), "mutate");
      await client.connect();
      try {
        await client.query(END_WHAT_RUNS);
        await client.query(statement);
      } finally {
        await client.end(); // a template can be cloned only while nobody is connected to it
      }
    },
    close: () => vitest.close(),
  };
}

async function runFile(vitest: Vitest, file: string): Promise<string | null> {
  const specifications = await vitest.globTestSpecifications([join(TESTS, file)]);
  if (specifications.length === 0) throw new Error(`The test file ${file} does not exist.`);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  // Includes modules of files that ran earlier, with their failures from that time.
  for (const module of testModules.filter(({ moduleId }) => moduleId === join(TESTS, file))) {
    for (const test of module.children.allTests("failed")) return test.fullName;
    if (module.state() === "failed") return `${file} as a whole`;
  }
  return unhandledErrors.length > 0 ? `${file}: an error outside its tests` : null;
}
