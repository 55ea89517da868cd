export interface ManagedCredits {
  /** What can be spent now. */
  readonly available: number;
  /** Set aside for runs in progress. */
  readonly held: number;
  /** What the journal adds up to; expired credits that are not written off yet are in it. */
  readonly posted: number;
  readonly frozen: { readonly since: string; readonly reason: string | null } | null;
}

export const JOURNAL_KINDS = ["grant", "hold", "capture", "release", "expire", "adjust", "earn"] as const;

/** A row of the ledger's journal, as it was written; none ever changes. */
export interface JournalEntry {
  readonly entryId: string;
  readonly at: string;
  readonly kind: (typeof JOURNAL_KINDS)[number];
  /** Credits, never negative; `kind` says in which direction they went. */
  readonly amount: number;
  /** Posted less held after it. */
  readonly creditsAfter: number;
  readonly runId: string | null;
  /** Title of the prompt when that run was created. */
  readonly title: string | null;
  /** Why, as whoever gave or adjusted them wrote. */
  readonly reason: string | null;
  /** When granted credits expire; null: never. */
  readonly expiresAt: string | null;
}

export interface NewGrant {
  /** Email address or id. */
  readonly account: string;
  readonly amount: number;
  /** Recorded in the journal. */
  readonly reason?: string | undefined;
  /** ISO 8601, to come; never when absent. */
  readonly expiresAt?: string | null | undefined;
}

export interface Grant {
  readonly accountId: string;
  readonly amount: number;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  /** True: the Idempotency-Key had granted them before, and nothing was granted now. */
  readonly isRepeated: boolean;
  /** What the account can spend now. */
  readonly credits: number;
}
