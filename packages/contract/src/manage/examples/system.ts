import type { ShapesOf } from "../../endpoints.ts";
import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { systemSchemas } from "../schemas/system.ts";
import { membersExamples } from "./members.ts";
import { creditsAndModelsExamples } from "./credits-and-models.ts";
import { runsExamples } from "./runs.ts";

const {
  isOwnPrompt: _isOwn,
  outputs: _outputs,
  inputs: _inputs,
  answeredBy: _answeredBy,
  ...run
} = runsExamples.getRun.data;
const [row] = runsExamples.listRuns.data.rows;
const account = membersExamples.setPlan.data;
if (row === undefined) throw new Error("The example of a list has no row.");

const failure = { accountId: account.accountId, accountEmail: account.email, cause: "rate_limit" } as const;
const causeDetail = "Image 1: example.org: it returned 404";
const failed = { runStatus: "failed", credits: 0, error: "The model is busy. You were not charged." } as const;

export const systemExamples: ExamplesOf<ShapesOf<typeof systemSchemas>> = {
  getSystem: {
    data: {
      version: "0.1.0",
      now: "2026-11-22T10:00:00.000Z",
      workers: [
        {
          workerId: "019a2b10-0000-7c3e-9d52-1f0b6c8e2a77",
          host: "prompts-1",
          pid: 4711,
          version: "0.1.0",
          isDraining: false,
          startedAt: "2026-11-22T08:00:00.000Z",
          heartbeatAt: "2026-11-22T09:59:59.000Z",
          running: 12,
        },
      ],
      queue: { waiting: 0, oldestAt: null, running: 12 },
      failures: [{ cause: "rate_limit", model: "openai/gpt-5", runs: 3 }],
      mail: { waiting: 1, givenUp: 0, lastFault: { text: "connect ECONNREFUSED", at: "2026-11-22T09:58:00.000Z" } },
      operatorsWithoutSignIn: [],
      askedLinks: [
        {
          personId: "019a2b10-7a41-7c3e-9d52-1f0b6c8e2a77",
          email: "ada@example.org",
          askedAt: "2026-11-22T09:40:00.000Z",
        },
      ],
      storage: { databaseBytes: 104_857_600 },
    },
  },
  listInstallationRuns: {
    parameters: { limit: 10, status: "failed", cause: failure.cause, model: row.model },
    data: { rows: [{ ...row, ...failure, ...failed }], hasMore: false },
  },
  getInstallationRun: {
    parameters: { runId: row.runId },
    data: {
      ...run,
      causeDetail,
      ...failure,
      ...failed,
      receipt: { held: 4, charged: 0, givenBack: 4, inputTokens: null, outputTokens: null },
      calls: [
        {
          attempt: 1,
          step: 0,
          item: 0,
          model: row.model,
          provider: "sandbox",
          sentAt: "2026-11-22T10:00:00.012Z",
          endedAt: "2026-11-22T10:00:01.470Z",
          outcome: "rate_limit",
          httpStatus: 429,
          providerCode: "rate_limit_exceeded",
          providerRequestId: "req_011CQ5bGm7",
          inputTokens: null,
          outputTokens: null,
        },
      ],
    },
  },
  listModelHealth: {
    data: {
      rows: [
        {
          model: row.model,
          calls: 40,
          failed: 3,
          medianMs: 1_460,
          lastFailure: {
            at: "2026-11-22T10:00:01.470Z",
            outcome: "rate_limit",
            httpStatus: 429,
            providerCode: "rate_limit_exceeded",
          },
          history: Array.from({ length: 12 }, (_, index) => ({
            calls: index === 11 ? 40 : 0,
            failed: index === 11 ? 3 : 0,
          })),
        },
      ],
    },
  },
  getAccount: {
    parameters: { accountId: account.accountId },
    data: {
      ...account,
      credits: creditsAndModelsExamples.getCredits.data,
      members: membersExamples.listMembers.data.rows,
    },
  },
};
