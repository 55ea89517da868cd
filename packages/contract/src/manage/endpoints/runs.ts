import { ENDPOINTS, type EndpointEntry } from "../../endpoints.ts";

const BOTH = ["token", "session"] as const;
const reading = { auth: BOTH, role: "member" } as const;

/** Runs. A person creates and cancels them as under /v1. */
export const runsEndpoints = {
  createRun: {
    ...ENDPOINTS.createRun,
    path: "/manage/v1/runs",
    auth: "session",
    role: "member",
    needsPlan: true,
    subject: "runId",
  },
  listRuns: {
    ...reading,
    method: "GET",
    path: "/manage/v1/runs",
    summary: "List and search the account's runs, newest first",
    scope: "runs:read",
    errors: ["VALIDATION_ERROR"],
  },
  exportRuns: {
    ...reading,
    method: "GET",
    path: "/manage/v1/runs/export",
    summary: "Download all of the account's runs that match the filters, as JSON Lines or CSV",
    scope: "runs:read",
    isLines: true,
    errors: ["VALIDATION_ERROR"],
  },
  getRun: {
    ...reading,
    method: "GET",
    path: "/manage/v1/runs/:runId",
    summary: "Retrieve a run with its inputs, outputs, timeline, and receipt",
    scope: "runs:read",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  followRun: { ...ENDPOINTS.followRun, ...reading, path: "/manage/v1/runs/:runId/events", scope: "runs:read" },
  cancelRun: {
    ...ENDPOINTS.cancelRun,
    path: "/manage/v1/runs/:runId/cancel",
    auth: "session",
    role: "member",
    subject: "runId",
  },
  quoteRun: {
    method: "POST",
    path: "/manage/v1/runs/quote",
    summary: "Calculate what a run with these inputs and options would cost; images may be omitted",
    auth: "session",
    role: "member",
    isAudited: false,
    bodyBytesMax: ENDPOINTS.createRun.bodyBytesMax,
    errors: ["NOT_FOUND_ERROR", "GONE_ERROR", "VALIDATION_ERROR"],
  },
} as const satisfies Record<string, EndpointEntry>;
