import { z } from "zod";
import {
  batchListSchema,
  batchResultsQuerySchema,
  batchSchema,
  createBatchBodySchema,
  listBatchesQuerySchema,
  resultLinesSchema,
} from "./batches/batch-schemas.ts";
import { createRunBodySchema } from "./create-run-schema.ts";
import { ISSUE_CODES, type Issue, type IssueCode } from "./errors.ts";
import {
  getPromptQuerySchema,
  labelQuerySchema,
  listRunsQuerySchema,
  searchPromptsQuerySchema,
  slugField,
  slugsQuerySchema,
} from "./query-schemas.ts";
import {
  creditsSchema,
  meSchema,
  namedPromptsSchema,
  promptVersionSchema,
  resourcesSchema,
  runEventStreamSchema,
  runListSchema,
  runSchema,
  searchResultSchema,
  slugVersionSchema,
} from "./response-schemas.ts";
import { uuidField } from "./request-fields.ts";

/*
 * The table of all schemas. Parsing a request also normalises it: UUIDs to lower case, keys to NFC, absent and null to
 * empty, numbers out of query strings.
 */

export { batchItemSchema, batchResultSchema, batchSchema } from "./batches/batch-schemas.ts";
export { createRunBodySchema } from "./create-run-schema.ts";
export { listRunsQuerySchema, slugNames, unixTimeMs } from "./query-schemas.ts";
export { REQUEST_LIMITS } from "./request-limits.ts";
export * from "./response-schemas.ts";
export { textFault } from "./request-fields.ts";

/** Schemas of one endpoint; `body` is null where any body is ignored. */
export interface EndpointSchemas {
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | null;
  readonly data: z.ZodType;
}

const none = z.object({});
const runId = z.object({ runId: uuidField("runId") });
const batchId = z.object({ batchId: uuidField("batchId") });

/** By the names of ENDPOINTS. */
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

interface RawIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
  readonly params?: unknown;
}

/** Turns an issue of a request schema (parsed with `reportInput: true`) into the form that is sent. */
export function toIssue(root: "body" | "query" | "path", issue: RawIssue): Issue {
  // Half of a surrogate pair is in no Unicode text: a caller's parser would refuse the whole answer for it.
  const path = [root, ...issue.path.map((step) => (typeof step === "number" ? step : String(step).toWellFormed()))];
  return { path, code: issueCode(issue), message: issue.message };
}

function issueCode(issue: RawIssue): IssueCode {
  const { params } = issue;
  if (typeof params === "object" && params !== null && "issue" in params) {
    const found = ISSUE_CODES.find((code) => code === params.issue);
    if (found !== undefined) return found;
  }
  const isMissing = issue.path.length > 0 && (issue.input === undefined || issue.input === null);
  return isMissing ? "required" : "invalid_type";
}
