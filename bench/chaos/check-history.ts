/**
 * What callers were told and what was done to the processes, held against what the database holds and the API answers.
 * Every entry of `violations` is a broken promise.
 */
import type { Database } from "../../packages/server/src/platform/database.ts";
import { findFaults } from "../../packages/server/test/installation-fixture.ts";
import type { Account, Told } from "./load.ts";
import type { RunView } from "./run-view.ts";
import { readReclaims, type Kill, type Outage, type Reclaim } from "./trace.ts";

export interface History {
  readonly told: readonly Told[];
  readonly accounts: readonly Account[];
  /** Every run as its account reads it after the last one has ended. */
  readonly readBack: ReadonlyMap<string, RunView>;
  readonly kills: readonly Kill[];
  readonly outages: readonly Outage[];
  /** What the fleet saw of its processes. */
  readonly mishaps: readonly string[];
}

interface RunRow {
  readonly id: string;
  readonly account_id: string;
  readonly status: string;
  readonly credits: number | null;
  readonly attempt: number;
  readonly max_attempts: number;
  readonly key: string | null;
}

/** The promise: a dead worker's runs are claimed again within ten seconds in which there is a database. */
const RECLAIM_P99_MS_MAX = 10_000;

export async function checkHistory(db: Database, history: History) {
  const rows = await readRuns(db);
  const runs = new Map(rows.map((row) => [row.id, row]));
  const { told } = history;
  const judged = told.flatMap((entry) => [...judge(entry, runs), ...judgeReadBack(entry, history.readBack)]);
  const faults = await findFaults(db);
  const reclaims = await readReclaims(db, history.kills);
  const [sends] = await db.query<{ total: number; most: number }>(
    `select coalesce(sum(n), 0)::int as total, coalesce(max(n), 0)::int as most
     from (select count(*) as n from provider_calls group by run_id) c`,
  );
  const violations = [
    ...history.mishaps,
    ...judged,
    ...judgeRefusals(history),
    ...judgeRows(rows, told),
    ...(await judgeBalances(db, history.accounts, rows)),
    ...faults.map((fault) => JSON.stringify(fault)),
    ...judgeReclaims(reclaims, history.outages),
  ];
  const count = (outcome: Told["outcome"]) => told.filter((entry) => entry.outcome === outcome).length;
  return {
    acknowledged: count("acknowledged"),
    lost: judged.filter((text) => text.startsWith("lost")).length,
    unanswered: count("unknown"),
    refused: count("refused"),
    runs: rows.length,
    succeeded: rows.filter((row) => row.status === "succeeded").length,
    rerun: rows.filter((row) => row.attempt > 1).length,
    attemptsMost: Math.max(0, ...rows.map((row) => row.attempt)),
    providerCalls: sends?.total ?? 0,
    providerCallsMost: sends?.most ?? 0,
    ledgerFaults: faults.length,
    ...summarize(reclaims, history.outages),
    violations,
  };
}

function readRuns(db: Database): Promise<RunRow[]> {
  return db.tx(
    (tx) =>
      tx.query<RunRow>(
        `select r.id, r.account_id, r.status, r.credits, r.attempt, r.max_attempts, k.key from runs r
         left join idempotency_keys k on k.account_id = r.account_id and k.run_id = r.id`,
      ),
    { statementTimeoutMs: 0 },
  );
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
  return found;
}

function judgeReadBack(entry: Told, readBack: ReadonlyMap<string, RunView>): string[] {
  const unread = [...new Set(entry.runIds)].filter((id) => !readBack.has(id));
  const changed = entry.finals.filter((seen) => {
    const now = readBack.get(seen.runId);
    return now !== undefined && (["runStatus", "tokens", "outputs"] as const).some((part) => now[part] !== seen[part]);
  });
  return [
    ...unread.map((id) => `cannot be read by its account: ${id}`),
    ...changed.map(({ runId }) => `changed after it was final: ${runId}`),
  ];
}

/** Only an account without enough credits may be refused, and everybody must be told something in the end. */
function judgeRefusals({ told, accounts }: History): string[] {
  const poor = Math.min(...accounts.map(({ granted }) => granted));
  const mayLack = new Set(accounts.filter(({ granted }) => granted === poor).map(({ accountId }) => accountId));
  return told.flatMap(({ outcome, code, accountId, key }) => {
    if (outcome === "unknown") return [`never answered: key ${key}`];
    const isDue = code === "PAYMENT_REQUIRED_ERROR" && mayLack.has(accountId);
    return outcome === "refused" && !isDue ? [`refused without a reason: ${code}, key ${key}`] : [];
  });
}

function judgeRows(rows: readonly RunRow[], told: readonly Told[]): string[] {
  const keys = new Set(told.map((entry) => entry.key));
  const uninvited = rows.filter((row) => row.key === null || !keys.has(row.key));
  const overtried = rows.filter((row) => row.attempt > row.max_attempts);
  return [
    ...uninvited.map((row) => `a run nobody asked for: ${row.id}`),
    ...overtried.map((row) => `more attempts than allowed: ${row.id}`),
  ];
}

/** The ledger's own audit compares the ledger with itself; this compares it with what was granted and what runs cost. */
async function judgeBalances(db: Database, accounts: readonly Account[], runs: readonly RunRow[]): Promise<string[]> {
  const spent = new Map<string, number>();
  for (const run of runs) spent.set(run.account_id, (spent.get(run.account_id) ?? 0) + (run.credits ?? 0));
  const rows = await db.query<{ account_id: string; posted: number; held: number }>(
    "select account_id, posted, held from credit_accounts",
  );
  const balances = new Map(rows.map((row) => [row.account_id, row]));
  return accounts.flatMap(({ accountId, granted }) => {
    const due = granted - (spent.get(accountId) ?? 0);
    const has = balances.get(accountId);
    if (has?.posted === due && has.held === 0) return [];
    return [`credits made or lost: account ${accountId} has ${has?.posted} and holds ${has?.held}, due are ${due}`];
  });
}

function judgeReclaims(reclaims: readonly Reclaim[], outages: readonly Outage[]): string[] {
  const never = reclaims.filter((one) => one.claimedMs === null && !one.isEnded);
  const p99 = percentile(ascending(reclaims.map((one) => withoutOutages(one, outages))), 0.99) ?? 0;
  return [
    ...never.map(({ runId }) => `never claimed again after its worker died: ${runId}`),
    ...(p99 >= RECLAIM_P99_MS_MAX ? [`claimed again too late: p99 ${Math.round(p99)} ms`] : []),
  ];
}

/** The time until the run was claimed again, less what the database was away of it. */
function withoutOutages({ diedAtMs, claimedMs }: Reclaim, outages: readonly Outage[]): number | null {
  if (claimedMs === null) return null;
  const away = outages.map(({ fromMs, toMs }) =>
    Math.max(0, Math.min(toMs, diedAtMs + claimedMs) - Math.max(fromMs, diedAtMs)),
  );
  return Math.round(claimedMs - away.reduce((sum, ms) => sum + ms, 0));
}

function summarize(reclaims: readonly Reclaim[], outages: readonly Outage[]) {
  const again = reclaims.filter((one) => one.claimedMs !== null);
  return {
    workersKilledAtWork: new Set(reclaims.map((one) => one.worker)).size,
    reclaims: again.length,
    databaseAwayMsMost: Math.max(0, ...outages.map(({ fromMs, toMs }) => toMs - fromMs)),
    /** From the death of a worker until its run was taken from it. */
    freedMs: spread(again.map((one) => one.freedMs)),
    /** From the death of a worker until its run was claimed by another one. */
    reclaimMs: spread(again.map((one) => one.claimedMs)),
    /** The same without the time in which the database was away: what the promise is about. */
    reclaimWithDatabaseMs: spread(again.map((one) => withoutOutages(one, outages))),
  };
}

function spread(values: readonly (number | null)[]) {
  const sorted = ascending(values);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), most: sorted.at(-1) ?? null };
}

function ascending(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null).sort((a, b) => a - b);
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}
