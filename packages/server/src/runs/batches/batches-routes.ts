import type { Batch, CreateBatchBody } from "@promptd/contract";
import type { Answer, Handlers, RequestContext } from "../../http/endpoint.ts";
import { serverBusy } from "../../http/body/body-budget.ts";
import type { Database } from "../../platform/database/database.ts";
import { notFound, orNotFound } from "../../platform/problem.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import type { CancelOptions } from "../cancel-run.ts";
import { streamResults } from "./batch-results.ts";
import { cancelBatchRow, findBatch, listBatches, resumeBatchRow, type BatchOfAccount } from "./batches-store.ts";
import { cancelRunsOf } from "./cancel-batch.ts";
import { createBatch, type CreateBatchOptions } from "./create-batch.ts";

export interface BatchesRoutesOptions extends CreateBatchOptions, CancelOptions {
  readonly newId: () => string;
  /** Base URL under which this API's batches are reached, such as `https://example.org/v1`. */
  readonly baseUrl: () => string;
  /** Called when there is something to start. */
  readonly onReady: () => void;
}

/** Checking ten thousand items takes half a second of CPU time, so each account gets one check at a time. */
const CREATES_AT_ONCE = 4;
/** The same as a body's wait for memory; the batch stays in memory meanwhile. */
const CREATE_WAIT_MS = 10_000;

export function batchesRoutes(options: BatchesRoutesOptions) {
  const { db } = options;
  const checks = createSemaphore({
    permits: CREATES_AT_ONCE,
    keyShareMax: 1,
    timeoutMs: CREATE_WAIT_MS,
    timeoutError: serverBusy,
  });
  const batchOf = ({ batchId }: { readonly batchId: string }, { caller }: RequestContext): BatchOfAccount => ({
    accountId: caller.accountId,
    batchId,
  });
  return {
    createBatch: ({ body }, context) => {
      return checks.run(() => create(body, context, options), { key: context.caller.accountId });
    },
    getBatch: async ({ params }, context) => ({ data: await getBatch(db, batchOf(params, context)) }),
    listBatches: async ({ query }, { caller }) => ({ data: await listBatches(db, caller.accountId, query) }),
    getBatchResults: async ({ params, query }, context) => {
      const batch = batchOf(params, context);
      await getBatch(db, batch);
      return streamResults(db, batch, { accept: context.header("accept"), after: query.startingAfter ?? -1 });
    },
    cancelBatch: async ({ params }, context) => {
      const batch = batchOf(params, context);
      if (!(await cancelBatchRow(db, batch))) throw notFound("batch", batch.batchId);
      await cancelRunsOf(batch, options);
      return { data: await getBatch(db, batch) };
    },
    resumeBatch: async ({ params }, context) => {
      const batch = batchOf(params, context);
      if (!(await resumeBatchRow(db, batch, keyOf(context)))) throw notFound("batch", batch.batchId);
      options.onReady();
      return { data: await getBatch(db, batch) };
    },
  } satisfies Partial<Handlers>;
}

async function create(
  body: CreateBatchBody,
  context: RequestContext,
  options: BatchesRoutesOptions,
): Promise<Answer<Batch>> {
  const { accountId } = context.caller;
  const request = {
    accountId,
    keyId: keyOf(context),
    requestId: context.requestId,
    batchId: options.newId(),
    body,
    idempotencyKey: context.header("idempotency-key"),
    ignore: (name: string) => context.ignore(name),
  };
  const { batchId, isReplay } = await createBatch(request, options);
  if (!isReplay) options.onReady();
  const headers = {
    location: `${options.baseUrl()}/batches/${batchId}`,
    ...(isReplay ? { "idempotent-replayed": "true" } : {}),
  };
  return { status: isReplay ? 200 : 201, data: await getBatch(options.db, { accountId, batchId }), headers };
}

/** These endpoints accept no other credential. */
function keyOf({ caller }: RequestContext): string {
  if (caller.keyId === null) throw new Error("A batch needs the API key that its runs are created with.");
  return caller.keyId;
}

async function getBatch(db: Database, batch: BatchOfAccount): Promise<Batch> {
  return orNotFound(await findBatch(db, batch), "batch", batch.batchId);
}
