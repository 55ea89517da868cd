/**
 * The ledger: each grant, hold, capture, release, and expiry of credits is one row in an append-only journal, written
 * in the transaction that causes it. The rules are database functions (`sql/`), because they must hold for every
 * process under one lock. This file calls them.
 */
import { countOf } from "@promptd/contract";
import type { Database, Queryable } from "../platform/database/database.ts";
import { faultPoint } from "../platform/fault-injection.ts";
import { Problem } from "../platform/problem.ts";

export interface Grant {
  readonly accountId: string;
  readonly amount: number;
  /** Why the credits were granted; stored in the journal. */
  readonly reason: string | null;
  /** A second grant with the same key changes nothing; with another amount or expiry it is a conflict. */
  readonly idempotencyKey: string;
  /** ISO 8601; null: never expires. */
  readonly expiresAt: string | null;
}

/** What an idempotency key was already used for. */
export interface UsedGrant {
  readonly amount: number;
  /** Null: never expires. */
  readonly expiresAt: Date | null;
  readonly at: Date;
}

/** Outcomes other than `granted` changed nothing. */
export type GrantOutcome =
  | { readonly kind: "granted" | "repeated" }
  | { readonly kind: "conflict"; readonly used: UsedGrant };

interface GrantRow {
  readonly outcome: GrantOutcome["kind"];
  readonly used_amount: number;
  readonly used_expires: Date | null;
  readonly used_at: Date;
}

export async function grantCredits(db: Queryable, grant: Grant): Promise<GrantOutcome> {
  await faultPoint("grant.before_commit");
  const values = [grant.accountId, grant.amount, grant.idempotencyKey, grant.reason, grant.expiresAt];
  const rows = await db.query<GrantRow>("select * from credit_grant($1, $2, $3, $4, $5)", values);
  const [row] = rows as [GrantRow]; // the function always returns one row
  if (row.outcome !== "conflict") return { kind: row.outcome };
  return { kind: "conflict", used: { amount: row.used_amount, expiresAt: row.used_expires, at: row.used_at } };
}

export interface Adjustment {
  readonly accountId: string;
  /** Negative: takes credits away, but none that are held or expired. 0: sets the balance to what the journal says. */
  readonly amount: number;
  /** Stored in the journal. */
  readonly reason: string;
}

/** Adjusts a balance; also repairs one that its journal does not explain. @throws Problem if nothing was adjusted. */
export async function adjustCredits(db: Database, { accountId, amount, reason }: Adjustment): Promise<void> {
  await db.tx(
    async (tx) => {
      const text = "select outcome, available from credit_adjust($1, $2, $3)";
      const rows = await tx.query<{ outcome: string; available: number }>(text, [accountId, amount, reason]);
      const [{ outcome, available }] = rows as [(typeof rows)[number]]; // the function always returns one row
      if (outcome === "adjusted") return;
      const why =
        outcome === "nothing"
          ? "The balance already matches its journal, so an adjustment of 0 changes nothing."
          : `An adjustment of ${amount} would leave fewer credits than are held for runs; ${countOf(available, "credit is", "credits are")} available. Nothing was adjusted.`;
      throw new Problem("VALIDATION_ERROR", why);
    },
    { statementTimeoutMs: 0 }, // it reads the whole journal of the account
  );
}

/** Returns what the account can spend now: posted, minus held, minus expired, whether written off yet or not. */
export async function availableCredits(db: Database, accountId: string): Promise<number> {
  const text = "select credits_available($1) as credits";
  const rows = await db.pipelined<{ credits: number }>({ name: "credits_available", text }, [accountId]);
  const [{ credits }] = rows as [{ credits: number }]; // the function always returns one row
  return credits;
}
