/**
 * POST /v1/batches: makes the checks in the order of the specification, then commits the batch with all its items at
 * once.
 */
import type { CreateBatchBody } from "@promptd/contract";
import type { Database } from "../../platform/database/database.ts";
import { Problem } from "../../platform/problem.ts";
import { keyConflict } from "../create/idempotency.ts";
import type { QuoteOptions } from "../create/quote.ts";
import { getRunnablePrompt } from "../create/runnable-prompt.ts";
import { insertItems } from "./batch-items-store.ts";
import { countOpenBatches, findBatchOfKey, insertBatch, type NewBatch } from "./batches-store.ts";
import { fingerprintBatch, fitItems, parseItems, type CheckedItem } from "./check-items.ts";

export interface CreateBatchOptions extends QuoteOptions {
  readonly db: Database;
}

export interface BatchRequest extends Pick<
  NewBatch,
  "accountId" | "batchId" | "keyId" | "requestId" | "idempotencyKey"
> {
  readonly body: CreateBatchBody;
  /** Reports a part of the request that had no effect. */
  readonly ignore: (name: string) => void;
}

export interface CreatedBatch {
  readonly batchId: string;
  /** True: an earlier request with this idempotency key created the batch. */
  readonly isReplay: boolean;
}

/**
 * The items of each may take 32 MiB of the database, and since all of them share one window, having many at once helps
 * nobody.
 */
const OPEN_BATCHES_MAX = 20;

/** @throws Problem 422, 404, 410, 422 from the prompt, or 429, in this order of checks. */
export async function createBatch(request: BatchRequest, options: CreateBatchOptions): Promise<CreatedBatch> {
  const { accountId, body, idempotencyKey } = request;
  const items = await parseItems(body.items);
  const fingerprint = await fingerprintBatch(body, items);
  const joined = await joinBatch(options.db, request, fingerprint);
  if (joined !== null) return joined;
  const prompt = await getRunnablePrompt(request, options);
  await fitItems(prompt, items, body, { ...options, accountId, ignore: request.ignore });
  const batch: NewBatch = {
    ...request,
    name: body.name ?? null,
    promptVersionId: prompt.version.promptVersionId,
    runOptions: body.runOptions ?? {},
    idempotencyKey,
    fingerprint,
    total: items.length,
  };
  if (await store(options.db, batch, items)) return { batchId: batch.batchId, isReplay: false };
  // Another request with the same key was faster.
  const other = await joinBatch(options.db, request, fingerprint);
  if (other === null) throw new Error(`The earlier batch with the key of ${batch.batchId} no longer exists.`);
  return other;
}

async function joinBatch(
  db: Database,
  { accountId, idempotencyKey }: Pick<BatchRequest, "accountId" | "idempotencyKey">,
  fingerprint: Buffer,
): Promise<CreatedBatch | null> {
  const earlier = idempotencyKey === null ? null : await findBatchOfKey(db, accountId, idempotencyKey);
  if (earlier === null) return null;
  if (!earlier.fingerprint.equals(fingerprint)) throw keyConflict();
  return { batchId: earlier.batchId, isReplay: true };
}

/** False: another batch has the key. */
function store(db: Database, batch: NewBatch, items: readonly CheckedItem[]): Promise<boolean> {
  return db.tx(async (tx) => {
    const open = await countOpenBatches(tx, batch.accountId);
    if (!(await insertBatch(tx, batch))) return false;
    if (open >= OPEN_BATCHES_MAX) throw tooManyBatches();
    await insertItems(tx, batch, items);
    return true;
  });
}

function tooManyBatches(): Problem {
  return new Problem(
    "TOO_MANY_REQUESTS_ERROR",
    `This account already has ${OPEN_BATCHES_MAX} unfinished batches, the maximum. Wait for one to finish, or cancel one.`,
    { data: { reason: "TOO_MANY_BATCHES", limit: OPEN_BATCHES_MAX }, headers: { "retry-after": "1" } },
  );
}
