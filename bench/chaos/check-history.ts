/** What callers were told, held against what the database holds. Every entry of `violations` is a broken promise. */
import { openConnection, type Database } from "../../packages/server/src/platform/database.ts";
import { findFaults } from "../../packages/server/test/installation-fixture.ts";
import type { Told } from "./load.ts";
import { readReclaims, type Kill } from "./trace.ts";

interface RunRow {
  readonly id: string;
  readonly account_id: string;
  readonly status: string;
  readonly credits: number | null;
  readonly attempt: number;
  readonly key: string | null;
}

export async function checkHistory(
  db: Database,
  { history, kills, superuserUrl }: { history: readonly Told[]; kills: readonly Kill[]; superuserUrl: string },
) {
  const rows = await db.query<RunRow>(
    `select r.id, r.account_id, r.status, r.credits, r.attempt, k.key from runs r
     left join idempotency_keys k on k.account_id = r.account_id and k.run_id = r.id`,
  );
  const runs = new Map(rows.map((row) => [row.id, row]));
  const told = history.flatMap((entry) => judge(entry, runs));
  const keys = new Set(history.map((entry) => entry.key));
  const uninvited = rows.filter((row) => row.key === null || !keys.has(row.key));
  const faults = await findFaults(db);
  const damage = await checkIndexes(superuserUrl);
  const acknowledged = history.filter((entry) => entry.outcome === "acknowledged");
  const { ms: times, workers } = await readReclaims(db, kills);
  const [sends] = await db.query<{ total: number; most: number }>(
    `select coalesce(sum(n), 0)::int as total, coalesce(max(n), 0)::int as most
     from (select count(*) as n from provider_calls group by run_id) c`,
  );
  return {
    acknowledged: acknowledged.length,
    lost: told.filter((text) => text.startsWith("lost")).length,
    unanswered: history.filter((entry) => entry.outcome === "unknown").length,
    refused: history.filter((entry) => entry.outcome === "refused").length,
    runs: rows.length,
    succeeded: rows.filter((row) => row.status === "succeeded").length,
    rerun: rows.filter((row) => row.attempt > 1).length,
    attemptsMost: Math.max(0, ...rows.map((row) => row.attempt)),
    providerCalls: sends?.total ?? 0,
    providerCallsMost: sends?.most ?? 0,
    ledgerFaults: faults.length,
    workersKilledAtWork: workers,
    reclaims: times.length,
    reclaimMs: { p50: percentile(times, 0.5), p99: percentile(times, 0.99), most: times.at(-1) ?? null },
    violations: [
      ...told,
      ...uninvited.map((row) => `a run nobody asked for: ${row.id}`),
      ...faults.map((fault) => JSON.stringify(fault)),
      ...damage,
    ].slice(0, 50),
  };
}

function judge(entry: Told, runs: ReadonlyMap<string, RunRow>): string[] {
  const found: string[] = entry.unspecified.map((answer) => `unspecified answer ${answer}`);
  const ids = new Set(entry.runIds);
  if (ids.size > 1) found.push(`several runs of one key: ${[...ids].join(" ")}`);
  for (const id of ids) {
    const run = runs.get(id);
    if (run === undefined) found.push(`lost: ${id}`);
    else if (run.account_id !== entry.accountId) found.push(`of another account: ${id}`);
    else if (run.status !== "succeeded" && run.status !== "failed") found.push(`not ended: ${id}`);
  }
  for (const { runId, runStatus, tokens } of entry.finals) {
    const run = runs.get(runId);
    if (run !== undefined && (run.status !== runStatus || (run.credits ?? 0) !== tokens)) {
      found.push(`changed after it was final: ${runId}`);
    }
  }
  return found;
}

/** amcheck: no index entry is missing or out of order after the crashes. */
async function checkIndexes(superuserUrl: string): Promise<string[]> {
  const connection = openConnection(superuserUrl, "chaos-check");
  await connection.connect();
  try {
    await connection.query("set statement_timeout = 0");
    await connection.query("create extension if not exists amcheck");
    await connection.query(
      `select bt_index_check(c.oid, true) from pg_class c join pg_am a on a.oid = c.relam
       join pg_namespace n on n.oid = c.relnamespace
       where a.amname = 'btree' and c.relkind = 'i' and n.nspname = 'public' and c.relpersistence = 'p'`,
    );
    return [];
  } catch (error) {
    return [`index damage: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    await connection.end();
  }
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}
