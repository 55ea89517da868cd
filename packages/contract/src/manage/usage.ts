/** Dimensions of usage. `account` is for operators only. */
export const USAGE_DIMENSIONS = ["day", "key", "prompt", "model", "account"] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** Usage of runs that ended in the last 30 days, including today (UTC). */
export interface RecentUsage {
  readonly runs: number;
  readonly failed: number;
  /** Credits paid for them. */
  readonly credits: number;
}

/** The same for authors: a prompt's or version's runs by all callers. Test runs are excluded. */
export interface RecentUseOfPrompt extends RecentUsage {
  readonly succeeded: number;
  /**
   * Excludes failures that say nothing about the prompt, which only `runs` counts: canceled by the caller, an image
   * or length that the model does not accept, or declined by the model.
   */
  readonly failed: number;
}

/** A table that is also available as CSV. */
export interface Report<Row> {
  /** First and last day, UTC. */
  readonly from: string;
  readonly to: string;
  readonly rows: readonly Row[];
  /** True: there are more rows than fit in one response. Request a shorter period or fewer dimensions. */
  readonly isCut: boolean;
}

/** Totals of finished runs, including today's. */
export type UsageReport = Report<UsageRow>;

/** Dimensions that were not requested are null. */
export interface UsageRow {
  readonly day: string | null;
  /** Null also for runs without a key. */
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly promptId: string | null;
  readonly promptSlug: string | null;
  /** The latest version's title. */
  readonly promptTitle: string | null;
  readonly model: string | null;
  readonly accountId: string | null;
  readonly accountEmail: string | null;
  readonly runs: number;
  readonly failed: number;
  readonly credits: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What providers charge at catalogue prices; 1,000,000 equals one credit. Null unless an operator asks. */
  readonly costMicro: number | null;
}

/** What others paid for runs of the account's prompts, and what the account earned. */
export type EarningsReport = Report<EarningsRow>;

export interface EarningsRow {
  /** Null unless requested by day. */
  readonly day: string | null;
  readonly promptId: string;
  readonly promptSlug: string;
  readonly runs: number;
  readonly failed: number;
  readonly credits: number;
  /** In credits, with two decimals: `12.34`. */
  readonly earned: string;
}
