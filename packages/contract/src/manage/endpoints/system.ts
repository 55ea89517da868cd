import type { EndpointEntry } from "../../endpoints.ts";

const operator = { auth: ["token", "session"], role: "operator", scope: "operator", method: "GET" } as const;

/** The installation with its accounts, runs, and models, as operators see them. */
export const systemEndpoints = {
  getSystem: {
    ...operator,
    path: "/manage/v1/system",
    summary: "Workers, queue, failures in the last hour, storage, and version",
    errors: [],
  },
  listInstallationRuns: {
    ...operator,
    path: "/manage/v1/system/runs",
    summary: "Find runs of all accounts by id, request id, account, status, cause, and model; the last day by default",
    errors: ["VALIDATION_ERROR"],
  },
  getInstallationRun: {
    ...operator,
    path: "/manage/v1/system/runs/:runId",
    summary: "Explain how a run of any account ended: cause, timeline, and provider calls",
    isAudited: true,
    subject: "runId",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  listModelHealth: {
    ...operator,
    path: "/manage/v1/system/models",
    summary: "Each model's calls, failures, and response times in the last hour",
    errors: [],
  },
  getAccount: {
    ...operator,
    path: "/manage/v1/accounts/:accountId",
    summary: "Retrieve an account with its credits and members",
    isAudited: true,
    subject: "accountId",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
} as const satisfies Record<string, EndpointEntry>;
