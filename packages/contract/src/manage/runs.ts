import type { BatchOfRun, ListRunsQuery, OutputItem, RunStatus } from "../runs.ts";

/** A run in a console list, without its outputs. */
export interface ManagedRunRow {
  readonly runId: string;
  readonly runStatus: RunStatus;
  /** The prompt's title when the run was created. */
  readonly title: string;
  readonly promptId: string;
  readonly promptVersionId: string;
  /** True: a test run of a draft. Only the account can see it, and its slug has no page. */
  readonly isTest: boolean;
  readonly slug: string;
  readonly model: string;
  /** Null: the run is free; otherwise 0 until it succeeds. */
  readonly credits: number | null;
  /** Number of attempts so far. */
  readonly attempts: number;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** The first error message; null unless the run failed. */
  readonly error: string | null;
  /** The API key that created the run; null: a person did. */
  readonly keyId: string | null;
  /** The request that created it. */
  readonly requestId: string | null;
  /** The run's batch. */
  readonly batch: BatchOfRun | null;
}

export interface ListManagedRunsQuery extends Omit<ListRunsQuery, "include"> {
  readonly promptId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly requestId?: string | undefined;
  /** Part of an error message, case-insensitive. */
  readonly error?: string | undefined;
}

/** The same filters as for a list, but without pages. */
export interface ExportRunsQuery extends Omit<ListManagedRunsQuery, "limit" | "startingAfter" | "endingBefore"> {
  /** Default: JSON Lines. */
  readonly format?: "jsonl" | "csv" | undefined;
  /** The account id; replaces the header in a link. */
  readonly account?: string | undefined;
}

/** One event in a run's timeline. */
export interface RunMoment {
  readonly at: string;
  readonly event: "created" | "started" | "call" | "finished";
  /** Number of the attempt; 0 before the first. */
  readonly attempt: number;
  /** For a call: when it ended; null: not yet, or unknown. */
  readonly endedAt: string | null;
  /** For a call: `succeeded`, `failed`, or null while it is open. For the end: the run's status. */
  readonly outcome: string | null;
}

/** Names for a run's ids. */
export interface NamesOfRun {
  /** The prompt version's number; null: a test run of a draft. */
  readonly version: number | null;
  /** Name of the API key; null: a person created the run. */
  readonly keyName: string | null;
}

export interface ManagedRun extends ManagedRunRow, NamesOfRun {
  /** True: the account owns the prompt. */
  readonly isOwnPrompt: boolean;
  readonly outputs: readonly OutputItem[];
  readonly inputs: {
    readonly textInputs: Readonly<Record<string, string>>;
    /** Number of images sent. */
    readonly images: number;
  };
  readonly runOptions: Readonly<Record<string, string>>;
  /**
   * The fallback that answered instead of `model` and whose price was charged; null: `model` itself, or no answer yet.
   */
  readonly answeredBy: string | null;
  readonly timeline: readonly RunMoment[];
  readonly receipt: {
    /** Credits held when the run was created; null: a free run. */
    readonly held: number | null;
    readonly charged: number;
    readonly givenBack: number;
    /**
     * Tokens of the run's model calls, including failed calls, as in the usage. Null: no call has reported any, or the
     * run is so old that its calls are no longer stored.
     */
    readonly inputTokens: number | null;
    readonly outputTokens: number | null;
  };
}
