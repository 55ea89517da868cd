import type { EndpointEntry } from "../../endpoints.ts";

const BOTH = ["token", "session"] as const;

/** Credits of an account, and the models of the installation. */
export const creditsAndModelsEndpoints = {
  getCredits: {
    method: "GET",
    path: "/manage/v1/credits",
    summary: "Credits of the account: available, held, and whether it is frozen",
    auth: BOTH,
    role: "member",
    scope: "credits:read",
    errors: [],
  },
  listJournal: {
    method: "GET",
    path: "/manage/v1/credits/journal",
    summary: "List the journal of the account's credits, newest first",
    auth: BOTH,
    role: "member",
    scope: "credits:read",
    errors: ["VALIDATION_ERROR"],
  },
  listModels: {
    method: "GET",
    path: "/manage/v1/models",
    summary: "List all models, enabled or not, with prices",
    auth: BOTH,
    role: "member",
    scope: "prompts:read",
    errors: [],
  },
  switchModel: {
    method: "PUT",
    path: "/manage/v1/system/models",
    summary:
      "Switch a model off for the whole installation, or on again; runs of it fail free, or their fallbacks answer",
    auth: BOTH,
    role: "operator",
    scope: "operator",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "model",
  },
  testModel: {
    method: "POST",
    path: "/manage/v1/system/models/test",
    summary: "Make one small call of a model and say how it went; the provider bills it, no account pays",
    auth: BOTH,
    role: "operator",
    scope: "operator",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "model",
  },
} as const satisfies Record<string, EndpointEntry>;
