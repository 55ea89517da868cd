/**
 * What one account costs another: how long a victim's work takes alone, and while four other accounts name image hosts
 * that drip, another sends images that are small and decode to 49 megapixels, sends bodies of 31 MiB, and asks a model server
 * for all that it can do. All in one run.
 *
 * The ratio is the victim's p95 under attack to its p95 alone; the
 * goal is 3 at most, and 512 MiB for the process that decodes.
 */
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { measureFetches } from "../fairness/images.ts";
import { measureService } from "../fairness/service.ts";
import { describeContrast } from "../fairness/times.ts";
import { defineCase } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";

export const fairness = defineCase({
  sizes: { rounds: [40, 2] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes.rounds)),
});

async function measure(server: ChaosDatabase, rounds: number) {
  const { decoding, bodies, compatible, rssMaxMib } = await measureService(server.url, rounds);
  const fetches = await measureFetches(server.url, rounds);
  return {
    fetches: describeContrast(fetches),
    decoding: describeContrast(decoding),
    bodies: describeContrast(bodies),
    compatible: describeContrast(compatible),
    rssMaxMib,
  };
}
