export interface NewGrant {
  /** E-mail address or id. */
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
