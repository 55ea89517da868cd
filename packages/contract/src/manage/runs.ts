import type { BatchOfRun, ListRunsQuery, OutputItem, RunStatus } from "../runs.ts";

/** A run as a list of the console shows it, without what it generated. */
export interface ManagedRunRow {
  readonly runId: string;
  readonly runStatus: RunStatus;
  /** Title of the prompt when the run was created. */
  readonly title: string;
  readonly promptId: string;
  readonly promptVersionId: string;
  /** True: a test run of a draft, of which only the account knows; its slug leads nowhere. */
  readonly isTest: boolean;
  readonly slug: string;
  readonly model: string;
  /** Null: the run is free; else 0 until it has succeeded. */
  readonly credits: number | null;
  /** How often a worker has taken it. */
  readonly attempts: number;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** The sentence of the first error; null unless it failed. */
  readonly error: string | null;
  /** The API key that asked for it; null: a person did. */
  readonly keyId: string | null;
  /** The request that created it. */
  readonly requestId: string | null;
  /** The batch that it belongs to. */
  readonly batch: BatchOfRun | null;
}

export interface ListManagedRunsQuery extends Omit<ListRunsQuery, "include"> {
  readonly promptId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly requestId?: string | undefined;
  /** Part of the sentence of an error, in any case. */
  readonly error?: string | undefined;
}

/** As for a list, but all that there are. */
export interface ExportRunsQuery extends Omit<ListManagedRunsQuery, "limit" | "startingAfter" | "endingBefore"> {
  /** JSON lines when absent. */
  readonly format?: "jsonl" | "csv" | undefined;
  /** The account in place of the header, for a link. */
  readonly account?: string | undefined;
}

/** One moment of a run's life. */
export interface RunMoment {
  readonly at: string;
  readonly event: "created" | "started" | "call" | "finished";
  /** Number of the attempt; 0 before the first. */
  readonly attempt: number;
  /** Of a call: when it ended; null: it has not, or nobody knows. */
  readonly endedAt: string | null;
  /** Of a call: `succeeded`, `failed`, or null while it is open; of the end: the run's status. */
  readonly outcome: string | null;
}

/** What the ids of a run stand for. */
export interface NamesOfRun {
  /** Number of the prompt version; null: a test run of a draft. */
  readonly version: number | null;
  /** Name of the API key; null: a person asked for it. */
  readonly keyName: string | null;
}

export interface ManagedRun extends ManagedRunRow, NamesOfRun {
  /** True: the account has written the prompt. */
  readonly isOwnPrompt: boolean;
  readonly outputs: readonly OutputItem[];
  readonly inputs: {
    readonly textInputs: Readonly<Record<string, string>>;
    /** How many images were sent. */
    readonly images: number;
  };
  readonly runOptions: Readonly<Record<string, string>>;
  /** The fallback that answered in place of `model`, and whose price was charged; null: `model` itself, or nothing yet. */
  readonly answeredBy: string | null;
  readonly timeline: readonly RunMoment[];
  readonly receipt: {
    /** Credits set aside when it was created; null: a free run. */
    readonly held: number | null;
    readonly charged: number;
    readonly givenBack: number;
  };
}
