import { readCreditsMetrics } from "./credits/index.ts";
import type { Database, Queryable } from "./platform/database/database.ts";
import { singleFamily, type Family } from "./platform/metrics/metrics.ts";
import { orAborted, withDeadline } from "./platform/resilience/deadline.ts";
import { readRunsMetrics } from "./runs/index.ts";
import { readWebhooksMetrics } from "./webhooks/index.ts";

/** Well below the 10 s after which Prometheus gives up: without the database, a process still shows its own metrics. */
const READ_MS_MAX = 2_000;

const READERS = [readRunsMetrics, readWebhooksMetrics, readCreditsMetrics];

/** Reads the metrics that every process of the installation shows alike. Never rejects. */
export async function readInstallationMetrics(db: Database): Promise<Family[]> {
  const limited: Queryable = { query: (statement, values = []) => db.queryWithin(READ_MS_MAX, statement, values) };
  const readAll = async () => (await Promise.all(READERS.map((read) => read(limited)))).flat();
  const families = await withDeadline(READ_MS_MAX, (signal) => orAborted(readAll(), signal)).catch(() => null);
  const up = {
    name: "promptd_database_up",
    help: "1 if the database answered this scrape of this process in time; otherwise 0, and the metrics of the installation are missing.",
  };
  return [singleFamily(up, families === null ? 0 : 1), ...(families ?? [])];
}
