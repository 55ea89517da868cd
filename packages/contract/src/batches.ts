import type { CreateRunBody, OutputItem } from "./runs.ts";

/** Limits of one batch. Its body is bounded as that of a single run is. */
export const BATCH_LIMITS = {
  itemsMax: 10_000,
  keyCodePointsMax: 255,
  nameCodePointsMax: 120,
} as const;

/** `paused`: nothing new is started until its cause is gone, or its owner resumes or cancels it. */
export const BATCH_STATUSES = ["running", "paused", "canceled", "finished"] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** Why a batch is paused. */
export const BATCH_PAUSES = [
  "INSUFFICIENT_CREDITS",
  "KEY_CAP_REACHED",
  "ACCOUNT_FROZEN",
  "PLAN_REQUIRED",
  "PLAN_LAPSED",
  "KEY_NOT_VALID",
  "PROMPT_NOT_ALLOWED",
  "PROMPT_NOT_FOUND",
  "MODEL_RETIRED",
] as const;
export type BatchPause = (typeof BATCH_PAUSES)[number];

/** How an item has ended. */
export const BATCH_ITEM_STATUSES = ["succeeded", "failed", "canceled"] as const;
export type BatchItemStatus = (typeof BATCH_ITEM_STATUSES)[number];

export interface BatchItem {
  readonly inputs: CreateRunBody["inputs"];
  /** The caller's own name for the item; no two items of a batch have the same. */
  readonly key?: string | null | undefined;
}

export interface CreateBatchBody {
  readonly promptVersionId: string;
  /** 1 to 10,000. */
  readonly items: readonly BatchItem[];
  /** Of every run. */
  readonly runOptions?: CreateRunBody["runOptions"];
  /** Shown in lists, such as the name of the file that the items come from. */
  readonly name?: string | null | undefined;
}

export interface BatchCounts {
  readonly total: number;
  /** Items without a run so far; those of a canceled batch never get one. */
  readonly notStarted: number;
  readonly queued: number;
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

export interface Batch {
  readonly batchId: string;
  readonly name: string | null;
  readonly promptVersionId: string;
  readonly batchStatus: BatchStatus;
  /** Null unless it is paused. */
  readonly pause: { readonly reason: BatchPause; readonly message: string } | null;
  readonly counts: BatchCounts;
  /** Charged so far. */
  readonly credits: number;
  /** ISO 8601, UTC, three decimals. */
  readonly createdAt: string;
  /** When the last of its runs ended; null: something is still to come. */
  readonly finishedAt: string | null;
}

/** What became of one item. */
export interface BatchResult {
  /** Its place in the request, from 0. */
  readonly index: number;
  readonly key: string | null;
  readonly status: BatchItemStatus;
  /** Null: it could not be started; `outputs` says why. */
  readonly runId: string | null;
  readonly outputs: readonly OutputItem[];
  /** Null: free. */
  readonly credits: number | null;
}

/** Of an endpoint that answers JSON lines, or the same as CSV, instead of an envelope. */
export interface ResultLines<Line = BatchResult> {
  readonly lines: readonly Line[];
}
