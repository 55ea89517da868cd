/**
 * What one account costs another: how long a victim's work takes alone, and while four other accounts name image hosts
 * that drip, another sends images that are small and decode to 49 megapixels, sends bodies of 31 MiB, and asks a model server
 * for all that it can do. All in one run.
 *
 *   node --conditions=promptd-source bench/fairness.ts [--rounds 40]
 *
 * Prints one JSON line and writes it to bench/results/. The ratio is the victim's p95 under attack to its p95 alone; the
 * goal is 3 at most, and 512 MiB for the process that decodes.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { ChaosDatabase } from "./chaos/database-server.ts";
import { describeMeasurement } from "./commit.ts";
import { measureFetches } from "./fairness/images.ts";
import { measureService } from "./fairness/service.ts";
import { describeContrast } from "./fairness/times.ts";
import { measureOnDatabase } from "./measure-on-database.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "40" },
    out: { type: "string", default: join(import.meta.dirname, "results", "fairness.json") },
  },
});

await measureOnDatabase("embedded", values.out, measure);

async function measure(server: ChaosDatabase) {
  const rounds = Number(values.rounds);
  const { decoding, bodies, compatible, rssMaxMib } = await measureService(server.url, rounds);
  const fetches = await measureFetches(server.url, rounds);
  return {
    rounds,
    fetches: describeContrast(fetches),
    decoding: describeContrast(decoding),
    bodies: describeContrast(bodies),
    compatible: describeContrast(compatible),
    rssMaxMib,
    ...describeMeasurement(),
  };
}
