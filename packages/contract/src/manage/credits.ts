export interface ManagedCredits {
  /** Credits that can be spent now. */
  readonly available: number;
  /** Set aside for runs in progress. */
  readonly held: number;
  /** The journal's total, including expired credits that are not written off yet. */
  readonly posted: number;
  readonly frozen: { readonly since: string; readonly reason: string | null } | null;
}

export const JOURNAL_KINDS = ["grant", "hold", "capture", "release", "expire", "adjust", "earn"] as const;

/** A row of the ledger's journal. Rows never change. */
export interface JournalEntry {
  readonly entryId: string;
  readonly at: string;
  readonly kind: (typeof JOURNAL_KINDS)[number];
  /** Credits, never negative. `kind` says in which direction they moved. */
  readonly amount: number;
  /** Posted minus held credits after this entry. */
  readonly creditsAfter: number;
  readonly runId: string | null;
  /** The prompt's title when the run was created. */
  readonly title: string | null;
  /** The reason given by the person who granted or adjusted the credits. */
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
  /** ISO 8601, in the future; absent or null: never. */
  readonly expiresAt?: string | null | undefined;
}

export interface Grant {
  readonly accountId: string;
  readonly amount: number;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  /** True: an earlier request with the same Idempotency-Key granted them; nothing was granted now. */
  readonly isRepeated: boolean;
  /** Credits that the account can spend now. */
  readonly credits: number;
}
