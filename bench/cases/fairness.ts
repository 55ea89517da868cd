/**
 * What one account can cost another: how long a victim's work takes alone, and while four other accounts name slow-dripping
 * image hosts, and another sends small images that decode to 49 megapixels, sends 31 MiB bodies, and uses all of a model
 * server's capacity. All in one run.
 *
 * The ratio is the victim's p95 under attack to its p95 alone. The
 * goal is at most 3, and at most 512 MiB for the decoding process.
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
