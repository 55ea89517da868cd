/**
 * The memory that search adds to a process, in MB: once everything is loaded, and after all development queries. A second
 * process indexes, so its garbage is not counted. `held` is with V8's smallest young generation: in a server, the young
 * generation grows with all work, not only search, and V8 gives it some 15 MB just for loading.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { defineCase } from "../harness/bench-case.ts";
import { readCorpus } from "../search/evaluation-data.ts";
import { growCatalogue } from "../search/grown-catalogue.ts";
import { indexCorpus } from "../search/own-systems.ts";
import { createScratchDatabase } from "../search/scratch-database.ts";

const PROBE = join(import.meta.dirname, "../harness/search-memory-probe.ts");

export const searchMemory = defineCase({
  sizes: { docs: [4_098, 500] },
  measure: async ({ sizes }) => {
    const scratch = await createScratchDatabase();
    try {
      await indexCorpus(scratch.db, growCatalogue(readCorpus(), sizes.docs));
      const probe = async (flags: readonly string[]): Promise<object> => {
        const argv = ["--expose-gc", ...flags, "--conditions=promptd-source", PROBE, scratch.url];
        const { stdout } = await promisify(execFile)(process.execPath, argv);
        return JSON.parse(stdout) as object;
      };
      return { grownByMb: await probe([]), held: await probe(["--max-semi-space-size=1"]) };
    } finally {
      await scratch.drop();
    }
  },
});
