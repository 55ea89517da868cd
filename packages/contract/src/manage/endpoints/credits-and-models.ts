import type { EndpointEntry } from "../../endpoints.ts";

const BOTH = ["token", "session"] as const;

/** Credits of an account, and the models of the installation. */
export const creditsAndModelsEndpoints = {
  getCredits: {
    method: "GET",
    path: "/manage/v1/credits",
    summary: "The account's credits: available, held, and whether the account is frozen",
    auth: BOTH,
    role: "member",
    scope: "credits:read",
    errors: [],
  },
  listJournal: {
    method: "GET",
    path: "/manage/v1/credits/journal",
    summary: "List the account's credit journal, newest first",
    auth: BOTH,
    role: "member",
    scope: "credits:read",
    errors: ["VALIDATION_ERROR"],
  },
  listModels: {
    method: "GET",
    path: "/manage/v1/models",
    summary: "List all models, whether enabled or not, with prices",
    auth: BOTH,
    role: "member",
    scope: "prompts:read",
    errors: [],
  },
  switchModel: {
    method: "PUT",
    path: "/manage/v1/system/models",
    summary:
      "Switch a model off for the whole installation, or on again; its runs use their fallbacks or fail free of charge",
    auth: BOTH,
    role: "operator",
    scope: "operator",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "model",
  },
  testModel: {
    method: "POST",
    path: "/manage/v1/system/models/test",
    summary: "Make one small test call to a model and report the result; the provider bills it, and no account pays",
    auth: BOTH,
    role: "operator",
    scope: "operator",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "model",
  },
} as const satisfies Record<string, EndpointEntry>;
