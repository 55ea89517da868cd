/** What usage can be asked by. `account` is for operators. */
export const USAGE_DIMENSIONS = ["day", "key", "prompt", "model", "account"] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** Of runs that ended in the last 30 days, today (UTC) included. */
export interface RecentUsage {
  readonly runs: number;
  readonly failed: number;
  /** What was paid for them. */
  readonly credits: number;
}

/** The same for authors, of a prompt or a version, whoever ran it; test runs are not among them. */
export interface RecentUseOfPrompt extends RecentUsage {
  readonly succeeded: number;
  /**
   * Without those that say nothing of the prompt, which are among `runs` alone: canceled by their caller, with an image
   * or a length that the model does not take, or declined by it.
   */
  readonly failed: number;
}

/** A table that is also answered as CSV. */
export interface Report<Row> {
  /** First and last day, UTC. */
  readonly from: string;
  readonly to: string;
  readonly rows: readonly Row[];
  /** True: there are more rows than one answer has. Ask for less time, or by less. */
  readonly isCut: boolean;
}

/** Sums over runs that ended, today's included. */
export type UsageReport = Report<UsageRow>;

/** A dimension that was not asked by is null. */
export interface UsageRow {
  readonly day: string | null;
  /** Null also for runs without a key. */
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly promptId: string | null;
  readonly promptSlug: string | null;
  /** Of its latest version. */
  readonly promptTitle: string | null;
  readonly model: string | null;
  readonly accountId: string | null;
  readonly accountEmail: string | null;
  readonly runs: number;
  readonly failed: number;
  readonly credits: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What providers charge at the catalogue's prices; 1,000,000 are one credit. Null: only an operator sees it. */
  readonly costMicro: number | null;
}

/** What others paid for runs of the account's prompts, and what the account earned of it. */
export type EarningsReport = Report<EarningsRow>;

export interface EarningsRow {
  /** Null unless asked by day. */
  readonly day: string | null;
  readonly promptId: string;
  readonly promptSlug: string;
  readonly runs: number;
  readonly failed: number;
  readonly credits: number;
  /** In credits, with two decimals: `12.34`. */
  readonly earned: string;
}
