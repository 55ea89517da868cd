/**
 * The memory that search adds to a process that serves it, in MB: once everything is loaded, and after all development
 * queries. A second process indexes, so its garbage is not counted.
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
      const argv = ["--expose-gc", "--conditions=promptd-source", PROBE, scratch.url];
      const { stdout } = await promisify(execFile)(process.execPath, argv);
      return { grownByMb: JSON.parse(stdout) as object };
    } finally {
      await scratch.drop();
    }
  },
});
