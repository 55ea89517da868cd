import { z } from "zod";
import {
  batchListSchema,
  batchResultsQuerySchema,
  batchSchema,
  createBatchBodySchema,
  listBatchesQuerySchema,
  resultLinesSchema,
} from "./batches.ts";
import { createRunBodySchema } from "./create-run.ts";
import {
  getPromptQuerySchema,
  labelQuerySchema,
  namedPromptsSchema,
  promptVersionSchema,
  slugField,
  slugsQuerySchema,
  slugVersionSchema,
} from "./prompts.ts";
import { listRunsQuerySchema, runListSchema } from "./list-runs.ts";
import { searchPromptsQuerySchema, searchResultSchema } from "./search-prompts.ts";
import { creditsSchema, meSchema } from "./me.ts";
import { resourcesSchema } from "./models.ts";
import { runEventStreamSchema, runSchema } from "./runs.ts";
import { uuidField } from "./request-fields.ts";

/*
 * The table of all schemas. Parsing a request also normalizes it: UUIDs to lower case, keys to NFC, absent and null to
 * empty, query strings to numbers.
 */

export * from "./answer-fields.ts";
export { batchItemSchema, batchResultSchema, batchSchema } from "./batches.ts";
export { createRunBodySchema } from "./create-run.ts";
export * from "./errors.ts";
export { batchOfRunSchema, listRunsQuerySchema, runListRowSchema, runListSchema, unixTimeMs } from "./list-runs.ts";
export * from "./me.ts";
export * from "./models.ts";
export {
  namedPromptsSchema,
  promptConfigSchema,
  promptVersionSchema,
  slugNames,
  slugVersionSchema,
} from "./prompts.ts";
export { textFault } from "./request-fields.ts";
export { REQUEST_LIMITS } from "./request-limits.ts";
export * from "./runs.ts";
export { searchResultSchema, searchRowMembers, searchRowSchema } from "./search-prompts.ts";

/** Schemas of one endpoint; `body` is null if the endpoint ignores its body. */
export interface EndpointSchemas {
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | null;
  readonly data: z.ZodType;
}

const none = z.object({});
const runId = z.object({ runId: uuidField("runId") });
const batchId = z.object({ batchId: uuidField("batchId") });

/** Keyed by the names in ENDPOINTS. */
export const endpointSchemas = {
  createRun: { params: none, query: none, body: createRunBodySchema, data: runSchema },
  getRun: { params: runId, query: none, body: null, data: runSchema },
  followRun: { params: runId, query: none, body: null, data: runEventStreamSchema },
  cancelRun: { params: runId, query: none, body: null, data: runSchema },
  listRuns: { params: none, query: listRunsQuerySchema, body: null, data: runListSchema },
  createBatch: { params: none, query: none, body: createBatchBodySchema, data: batchSchema },
  getBatch: { params: batchId, query: none, body: null, data: batchSchema },
  listBatches: { params: none, query: listBatchesQuerySchema, body: null, data: batchListSchema },
  getBatchResults: { params: batchId, query: batchResultsQuerySchema, body: null, data: resultLinesSchema },
  cancelBatch: { params: batchId, query: none, body: null, data: batchSchema },
  resumeBatch: { params: batchId, query: none, body: null, data: batchSchema },
  searchPrompts: { params: none, query: searchPromptsQuerySchema, body: null, data: searchResultSchema },
  getPrompt: {
    params: z.object({ promptId: uuidField("promptId") }),
    query: getPromptQuerySchema,
    body: null,
    data: promptVersionSchema,
  },
  getPromptVersion: {
    params: z.object({ promptVersionId: uuidField("promptVersionId") }),
    query: none,
    body: null,
    data: promptVersionSchema,
  },
  resolveSlug: {
    params: z.object({ slug: slugField }),
    query: labelQuerySchema,
    body: null,
    data: slugVersionSchema,
  },
  listSlugs: { params: none, query: slugsQuerySchema, body: null, data: namedPromptsSchema },
  getResources: { params: none, query: none, body: null, data: resourcesSchema },
  getMe: { params: none, query: none, body: null, data: meSchema },
  getCredits: { params: none, query: none, body: null, data: creditsSchema },
} satisfies Record<string, EndpointSchemas>;
