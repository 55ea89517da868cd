/** The statement that creates runs (runs/sql/create.sql). */
import type { FirstCall } from "../../models/index.ts";
import type { LivePrompt } from "../../prompts/index.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { createCounter } from "../../platform/metrics/metrics.ts";
import { idTimeMs } from "../../platform/ids.ts";
import { LANE } from "../run-limits.ts";

export interface RunToCreate {
  readonly accountId: string;
  /** The API key of the request; null: none. */
  readonly keyId: string | null;
  /** The request that creates the run. */
  readonly requestId: string;
  readonly runId: string;
  readonly promptVersionId: string;
  readonly runName: string;
  readonly model: string;
  /** Credits to hold; null: a free run, which leaves no entry in the ledger. */
  readonly hold: number | null;
  readonly prices: unknown;
  /** The terms that hold and prices are based on; null: a test run, which has none. */
  readonly terms: LivePrompt["terms"];
  readonly inputs: unknown;
  readonly runOptions: Readonly<Record<string, string>>;
  readonly deadlineSeconds: number;
  readonly activeRunsMax: number;
  readonly idempotency: { readonly key: string; readonly fingerprint: Buffer } | null;
  /** Counted with the run if the run is claimed at creation; null: counted when the call is made. */
  readonly firstCall: FirstCall | null;
}

/** The lease under which this process's worker claims new runs at creation: the first `runsMax` of a statement. */
export interface ClaimLease {
  readonly workerId: string;
  readonly leaseMs: number;
  readonly runsMax: number;
}

export type CreateOutcome =
  /** Claimed: created, and already held by this process's worker as its first attempt. */
  | { readonly kind: "created" | "claimed" | "joined"; readonly runId: string }
  | { readonly kind: "key_conflict" }
  | { readonly kind: "not_found" }
  /** The terms of the prompt have changed. */
  | { readonly kind: "other_terms" }
  | { readonly kind: "frozen" }
  /** The account already has the maximum number of queued and running runs. */
  | { readonly kind: "too_many_active" }
  | { readonly kind: "no_credits"; readonly available: number }
  /** The API key may not run this prompt. */
  | { readonly kind: "not_allowed" }
  /** The run does not fit into the rest of the API key's monthly cap; the next month begins at `opensAt`. */
  | { readonly kind: "capped"; readonly left: number; readonly opensAt: Date }
  /** The API key stopped being valid at `at`. */
  | { readonly kind: "revoked"; readonly at: Date }
  | { readonly kind: "expired"; readonly at: Date };

type CreateRow = { run_id: string | null; available: number | null } & (
  | { outcome: Exclude<CreateOutcome["kind"], "revoked" | "expired" | "capped"> }
  | { outcome: "revoked" | "expired" | "capped"; at: Date }
);

const creates = createCounter(
  {
    name: "promptd_run_creates_total",
    help: "Requests and batch items for which this process asked the database to create a run, by outcome. joined: the idempotency key already has a run.",
  },
  ["outcome"],
);

/** Used when the prompt has no share of its own. */
const INSTALLATION_SHARE = -1;

/** Creates a run that waits in the queue. */
export async function createRunRow(db: Queryable, run: RunToCreate): Promise<CreateOutcome> {
  const [outcome] = await createRunRows(db, [run], null);
  if (outcome === undefined) throw new Error("A create returned no outcome.");
  return outcome;
}

/**
 * Creates runs in account order, each as if it were created alone.
 * @param claim null: they wait in the queue.
 * @returns an outcome for each, in the same order.
 */
export async function createRunRows(
  db: Queryable,
  runs: readonly RunToCreate[],
  claim: ClaimLease | null,
): Promise<CreateOutcome[]> {
  const values = runs.map(createValues);
  const columns = values[0]?.map((_, column) => values.map((row) => row[column])) ?? [];
  const rows = await db.query<CreateRow>(
    {
      name: "run_create_on_terms",
      text: `select outcome, run_id, available, at from run_create_on_terms($1, $2, $3, $4, $5, $6, $7, $8::json[], $9::json[],
        $10::json[], $11, $12, $13, $14, $15, $16, $17, $18, make_interval(secs => $19::float8 / 1000), $20, $21, $22, $23, $24)`,
    },
    [
      ...columns,
      claim?.workerId ?? null,
      claim && LANE,
      claim?.leaseMs ?? null,
      claim?.runsMax ?? 0,
      runs.map(({ firstCall }) => firstCall?.model ?? null),
      runs.map(({ firstCall }) => firstCall?.provider ?? null),
      runs.map(({ firstCall }) => firstCall?.providerModel ?? null),
      runs.map(({ terms }) => terms && (terms.authorShare ?? INSTALLATION_SHARE)),
    ],
  );
  return runs.map(({ runId }, i) => {
    const row = rows[i];
    if (row === undefined) throw new Error("run_create_on_terms did not return a row for every run.");
    creates.add([row.outcome === "claimed" ? "created" : row.outcome]);
    return toOutcome(row, runId);
  });
}

/** In the order of the parameters of `run_create_on_terms`. */
function createValues(run: RunToCreate): readonly unknown[] {
  return [
    run.accountId,
    run.runId,
    idTimeMs(run.runId),
    run.promptVersionId,
    run.runName,
    run.model,
    run.hold,
    JSON.stringify(run.prices),
    JSON.stringify(run.inputs),
    JSON.stringify(run.runOptions),
    run.deadlineSeconds,
    run.activeRunsMax,
    run.idempotency?.key ?? null,
    run.idempotency?.fingerprint ?? null,
    run.keyId,
    run.requestId,
  ];
}

function toOutcome(row: CreateRow, runId: string): CreateOutcome {
  switch (row.outcome) {
    case "created":
    case "claimed":
    case "joined":
      return { kind: row.outcome, runId: row.run_id ?? runId };
    case "revoked":
    case "expired":
      return { kind: row.outcome, at: row.at };
    case "capped":
      return { kind: row.outcome, left: row.available ?? 0, opensAt: row.at };
    case "no_credits":
      return { kind: row.outcome, available: row.available ?? 0 };
    case "key_conflict":
    case "not_found":
    case "other_terms":
    case "not_allowed":
    case "too_many_active":
    case "frozen":
      return { kind: row.outcome };
    default: // of a newer release: no run is better than one that does not exist
      row satisfies never;
      throw new Error(`run_create_on_terms returned ${JSON.stringify(row)}.`);
  }
}
