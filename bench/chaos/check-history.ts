/**
 * Compares what callers were told and what was done to the processes with what the database holds and the API returns.
 * Every entry of `violations` is a broken guarantee.
 */
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import { findFaults } from "../../packages/server/test/support/installation-fixture.ts";
import { judgeReclaims, summarizeReclaims } from "./judge-reclaims.ts";
import type { Account, CallerReport } from "./load.ts";
import type { RunView } from "./run-view.ts";
import { countBegunWithCreate, readOverruns, readReclaims, type Kill, type Outage } from "./trace.ts";
import type { Slowdown } from "./watch-machine.ts";

export interface History {
  readonly reports: readonly CallerReport[];
  readonly accounts: readonly Account[];
  /** Every run as its account reads it after the last one has ended. */
  readonly readBack: ReadonlyMap<string, RunView>;
  readonly kills: readonly Kill[];
  readonly outages: readonly Outage[];
  readonly slowdowns: readonly Slowdown[];
  readonly leaseMs: number;
  /** What the fleet observed about its processes. */
  readonly mishaps: readonly string[];
}

interface RunRow {
  readonly id: string;
  readonly account_id: string;
  readonly status: string;
  readonly credits: number | null;
  readonly attempt: number;
  readonly max_attempts: number;
  /** A word for why it failed. */
  readonly fail_reason: string | null;
  readonly key: string | null;
  /** Of the request that created it. */
  readonly tag: string | null;
}

export async function checkHistory(db: Database, history: History) {
  const rows = await readRuns(db);
  const runs = new Map(rows.map((row) => [row.id, row]));
  const { reports } = history;
  const judged = reports.flatMap((entry) => [...judge(entry, runs), ...judgeReadBack(entry, history.readBack)]);
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
    ...judgeRows(rows, reports),
    ...(await judgeBalances(db, history.accounts, rows)),
    ...(await judgeEarnings(db)),
    ...(await judgeUsage(db)),
    ...(await readOverruns(db)),
    ...faults.map((fault) => JSON.stringify(fault)),
    ...judgeReclaims(reclaims, history),
    ...judgeWeight(reclaims, history),
  ];
  const tags = new Set(rows.map((row) => row.tag));
  const count = (outcome: CallerReport["outcome"]) => reports.filter((entry) => entry.outcome === outcome).length;
  return {
    acknowledged: count("acknowledged"),
    acknowledgedEnds: countEnds(reports, runs),
    lost: judged.filter((text) => text.startsWith("lost")).length,
    unanswered: count("unknown"),
    /** Among the requests without a response: they had no key to retry with. */
    unansweredWithRun: reports.filter((entry) => entry.outcome === "unknown" && tags.has(entry.tag)).length,
    refused: count("refused"),
    keyless: reports.filter(({ hasKey }) => !hasKey).length,
    runs: rows.length,
    begunWithCreate: await countBegunWithCreate(db),
    succeeded: rows.filter((row) => row.status === "succeeded").length,
    rerun: rows.filter((row) => row.attempt > 1).length,
    attemptsMost: Math.max(0, ...rows.map((row) => row.attempt)),
    providerCalls: sends?.total ?? 0,
    providerCallsMost: sends?.most ?? 0,
    ledgerFaults: faults.length,
    ...summarizeReclaims(reclaims, history),
    violations,
  };
}

/** Out of this many kills of any process, one hits a working worker, unless the load has stopped. */
const KILLS_THAT_HIT = 20;

function judgeWeight(reclaims: readonly unknown[], { kills }: History): string[] {
  if (kills.length < KILLS_THAT_HIT || reclaims.length > 0) return [];
  return ["no worker was killed with a run in hand: the run proves nothing about how runs are claimed again"];
}

function readRuns(db: Database): Promise<RunRow[]> {
  return db.tx(
    (tx) =>
      tx.query<RunRow>(
        `select r.id, r.account_id, r.status, r.credits, r.attempt, r.max_attempts, r.fail_reason, k.key,
           substring(r.inputs->'textInputs'->>'ask' from 'Request (\\S+)') as tag from runs r
         left join idempotency_keys k on k.account_id = r.account_id and k.run_id = r.id`,
      ),
    { statementTimeoutMs: 0 },
  );
}

/** What happened to the acknowledged runs: how many succeeded, and why the others did not. */
function countEnds(
  reports: readonly CallerReport[],
  runs: ReadonlyMap<string, RunRow>,
): Readonly<Record<string, number>> {
  const acknowledged = reports.filter(({ outcome }) => outcome === "acknowledged");
  const ends = Map.groupBy(acknowledged, ({ runIds }) => describeEnd(runs.get(runIds[0] ?? "")));
  return Object.fromEntries([...ends].map(([end, { length }]) => [end, length]));
}

function describeEnd(run: RunRow | undefined): string {
  if (run === undefined) return "lost";
  return run.status === "failed" ? `failed: ${run.fail_reason ?? "no reason"}` : run.status;
}

function judge(entry: CallerReport, runs: ReadonlyMap<string, RunRow>): string[] {
  const found: string[] = entry.unspecified.map((answer) => `unspecified answer ${answer}`);
  const ids = new Set(entry.runIds);
  if (ids.size > 1) found.push(`several runs of one request: ${[...ids].join(" ")}`);
  for (const id of ids) {
    const run = runs.get(id);
    if (run === undefined) found.push(`lost: ${id}`);
    else if (run.account_id !== entry.accountId) found.push(`of another account: ${id}`);
    else if (run.status !== "succeeded" && run.status !== "failed") found.push(`not ended: ${id}`);
  }
  return found;
}

function judgeReadBack(entry: CallerReport, readBack: ReadonlyMap<string, RunView>): string[] {
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

/**
 * Only an account without enough credits, or with a cap, may be refused, and a caller with a key must eventually get a
 * response. Without a key, a lost response leaves the caller without an answer.
 */
function judgeRefusals({ reports, accounts }: History): string[] {
  const mayLack = new Set(accounts.filter(({ isShort }) => isShort).map(({ accountId }) => accountId));
  return reports.flatMap(({ outcome, code, accountId, tag, hasKey }) => {
    if (outcome === "unknown") return hasKey ? [`never answered: request ${tag}`] : [];
    const isDue =
      (code === "PAYMENT_REQUIRED_ERROR" && mayLack.has(accountId)) || (code === "TOO_MANY_REQUESTS_ERROR" && !hasKey);
    return outcome === "refused" && !isDue ? [`refused without a reason: ${code}, request ${tag}`] : [];
  });
}

/**
 * Each run belongs to the one request that its text input names, and to no request whose caller was told that there is
 * no run.
 */
function judgeRows(rows: readonly RunRow[], reports: readonly CallerReport[]): string[] {
  const requests = new Map(reports.map((entry) => [entry.tag, entry]));
  const runsOf = Map.groupBy(rows, (row) => row.tag);
  const uninvited = rows.filter(({ tag, key }) => {
    const request = requests.get(tag ?? "");
    return request === undefined || key !== (request.hasKey ? tag : null);
  });
  const overtried = rows.filter((row) => row.attempt > row.max_attempts);
  return [
    ...uninvited.map((row) => `a run nobody asked for: ${row.id}`),
    ...reports.flatMap((request) => judgeRequest(request, runsOf.get(request.tag) ?? [])),
    ...overtried.map((row) => `more attempts than allowed: ${row.id}`),
  ];
}

function judgeRequest({ tag, outcome, code, runIds }: CallerReport, runs: readonly RunRow[]): string[] {
  const [run] = runs;
  if (run === undefined) return [];
  const ids = runs.map(({ id }) => id).join(" ");
  if (outcome === "refused") return [`a run whose caller was refused: ${ids}, ${code}, request ${tag}`];
  if (runs.length > 1) return [`several runs of one request: ${ids}`];
  if (outcome === "acknowledged" && !runIds.includes(run.id)) return [`answered with another run than ${run.id}`];
  return [];
}

/** The ledger's own audit compares the ledger with itself; this compares it with the grants and the costs of runs. */
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

/** Compares the earnings of authors, collected or not, with the prices and shares of the runs of their prompts. */
async function judgeEarnings(db: Database): Promise<string[]> {
  const rows = await db.query<{ author: string; due: number; has: number }>(
    `with due as (
       select (r.prices #>> '{author,accountId}')::uuid as author,
         sum(r.credits * (r.prices #>> '{author,sharePercent}')::int)::bigint as due
       from runs r where r.credits > 0 and r.prices #>> '{author,accountId}' is not null group by 1
     )
     select due.author, due.due, (coalesce(100 * a.posted + a.earned_rest, 0) + coalesce((
       select sum(e.hundredths) from credit_earnings e where e.author_id = due.author and e.collected_at is null
     ), 0))::bigint as has
     from due left join credit_accounts a on a.account_id = due.author`,
  );
  return rows
    .filter(({ due, has }) => due !== has)
    .map(({ author, due, has }) => `earnings made or lost: author ${author} has ${has} hundredths, due are ${due}`);
}

/** Each ended run counts once, rolled up or not. */
async function judgeUsage(db: Database): Promise<string[]> {
  const sums = "coalesce(sum(runs), 0)::bigint as runs, coalesce(sum(credits), 0)::bigint as credits";
  const [[used], [due]] = await Promise.all([
    db.query<object>(`select ${sums} from usage_of_all`),
    db.query<object>(
      "select count(*) as runs, coalesce(sum(credits), 0)::bigint as credits from runs where finished_at is not null",
    ),
  ]);
  const [has, should] = [JSON.stringify(used), JSON.stringify(due)];
  return has === should ? [] : [`usage is ${has} and should be ${should}`];
}
