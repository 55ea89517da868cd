import type { CreateRunBody, OutputItem } from "./runs.ts";

/** Limits of one batch. Its request body has the same size limit as a single run's. */
export const BATCH_LIMITS = {
  itemsMax: 10_000,
  keyCodePointsMax: 255,
  nameCodePointsMax: 120,
} as const;

/** `paused`: no item starts until the cause is gone, or the owner resumes or cancels the batch. */
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

/** How an item ended. */
export const BATCH_ITEM_STATUSES = ["succeeded", "failed", "canceled"] as const;
export type BatchItemStatus = (typeof BATCH_ITEM_STATUSES)[number];

export interface BatchItem {
  readonly inputs: CreateRunBody["inputs"];
  /** The caller's own name for the item, unique within the batch. */
  readonly key?: string | null | undefined;
}

export interface CreateBatchBody {
  readonly promptVersionId: string;
  /** 1 to 10,000. */
  readonly items: readonly BatchItem[];
  /** Apply to every run. */
  readonly runOptions?: CreateRunBody["runOptions"];
  /** Shown in lists; for example, the name of the file that the items come from. */
  readonly name?: string | null | undefined;
}

export interface BatchCounts {
  readonly total: number;
  /** Items without a run so far. Once the batch is canceled, they never get one. */
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
  /** Null unless the batch is paused. */
  readonly pause: { readonly reason: BatchPause; readonly message: string } | null;
  readonly counts: BatchCounts;
  /** Charged so far. */
  readonly credits: number;
  /** ISO 8601, UTC, three decimals. */
  readonly createdAt: string;
  /** When the batch's last run ended; null: the batch is not finished. */
  readonly finishedAt: string | null;
}

/** The result of one item. */
export interface BatchResult {
  /** Position in the request, from 0. */
  readonly index: number;
  readonly key: string | null;
  readonly status: BatchItemStatus;
  /** Null: the item could not be started; `outputs` says why. */
  readonly runId: string | null;
  readonly outputs: readonly OutputItem[];
  /** Null: free. */
  readonly credits: number | null;
}

/** The response of an endpoint that returns JSON Lines or CSV instead of an envelope. */
export interface ResultLines<Line = BatchResult> {
  readonly lines: readonly Line[];
}
