import { ENDPOINT_EXAMPLES, type ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { ShapesOf } from "../../endpoints.ts";
import type { runsSchemas } from "../schemas/runs.ts";

const { createRun, cancelRun, followRun, searchPrompts } = ENDPOINT_EXAMPLES;
const [prompt] = searchPrompts.data.rows;
if (prompt === undefined) throw new Error("The example of a search has no row.");

const row = {
  runId: createRun.data.runId,
  runStatus: "succeeded",
  title: prompt.title,
  promptId: prompt.promptId,
  promptVersionId: prompt.promptVersionId,
  isTest: false,
  slug: prompt.slug,
  model: "sandbox/text",
  credits: 2,
  attempts: 1,
  createdAt: "2026-11-22T10:00:00.000Z",
  startedAt: "2026-11-22T10:00:00.012Z",
  finishedAt: "2026-11-22T10:00:01.480Z",
  error: null,
  keyId: null,
  requestId: "019a2b15-03c1-7a08-94f3-2b6e8d1c7f50",
  batch: null,
} as const;

export const runsExamples: ExamplesOf<ShapesOf<typeof runsSchemas>> = {
  createRun,
  listRuns: {
    parameters: { limit: 10, status: "failed", error: "refused", model: "sandbox/text", promptId: prompt.promptId },
    data: { rows: [row], hasMore: false },
  },
  exportRuns: { parameters: { format: "csv", status: "succeeded" }, data: { lines: [row] } },
  getRun: {
    parameters: { runId: row.runId },
    data: {
      ...row,
      version: 3,
      keyName: null,
      isOwnPrompt: false,
      outputs: createRun.data.outputs,
      inputs: { textInputs: { topic: "frost" }, images: 0 },
      runOptions: { reasoningEffort: "low" },
      answeredBy: null,
      timeline: [
        { at: row.createdAt, event: "created", attempt: 0, endedAt: null, outcome: null },
        { at: row.startedAt, event: "started", attempt: 1, endedAt: null, outcome: null },
        { at: row.startedAt, event: "call", attempt: 1, endedAt: row.finishedAt, outcome: "succeeded" },
        { at: row.finishedAt, event: "finished", attempt: 1, endedAt: null, outcome: "succeeded" },
      ],
      receipt: { held: 4, charged: 2, givenBack: 2, inputTokens: 118, outputTokens: 64 },
    },
  },
  followRun,
  cancelRun,
  quoteRun: { bodies: createRun.bodies ?? {}, data: { estimate: 2, hold: 4 } },
};
