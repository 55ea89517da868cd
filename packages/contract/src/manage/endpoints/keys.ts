import type { EndpointEntry } from "../../endpoints.ts";

const ACCESS = { auth: ["token", "session"], scope: "keys:write" } as const;

export const keysEndpoints = {
  listKeys: {
    method: "GET",
    path: "/manage/v1/keys",
    summary: "List the account's API keys, newest first, with terms, last use and the use of 30 days",
    ...ACCESS,
    role: "member",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  createKey: {
    method: "POST",
    path: "/manage/v1/keys",
    summary: "Create an API key, which is shown once",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
  getKey: {
    method: "GET",
    path: "/manage/v1/keys/:keyId",
    summary: "Retrieve an API key of the account",
    ...ACCESS,
    role: "member",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  updateKey: {
    method: "PATCH",
    path: "/manage/v1/keys/:keyId",
    summary: "Change name, expiry, monthly cap or allowed prompts of an API key; null removes a term",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
  rollKey: {
    method: "POST",
    path: "/manage/v1/keys/:keyId/roll",
    summary: "Replace an API key by a new one, which is shown once; the old one stays valid for a while",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
  revokeKey: {
    method: "DELETE",
    path: "/manage/v1/keys/:keyId",
    summary: "Revoke an API key; requests with it then return 401",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
} as const satisfies Record<string, EndpointEntry>;
