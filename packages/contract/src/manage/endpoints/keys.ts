import type { EndpointEntry } from "../../endpoints.ts";

const ACCESS = { auth: ["token", "session"], scope: "keys:write" } as const;

export const keysEndpoints = {
  listKeys: {
    method: "GET",
    path: "/manage/v1/keys",
    summary:
      "List the account's API keys, newest first, with their terms, last use, and usage over 30 days; without revoked keys on request",
    ...ACCESS,
    role: "member",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  createKey: {
    method: "POST",
    path: "/manage/v1/keys",
    summary: "Create an API key; it is shown once",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
  getKey: {
    method: "GET",
    path: "/manage/v1/keys/:keyId",
    summary: "Retrieve one of the account's API keys",
    ...ACCESS,
    role: "member",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  updateKey: {
    method: "PATCH",
    path: "/manage/v1/keys/:keyId",
    summary: "Change an API key's name, expiry, monthly cap, or allowed prompts; null removes a term",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
  rollKey: {
    method: "POST",
    path: "/manage/v1/keys/:keyId/roll",
    summary: "Roll an API key: replace it with a new one, shown once; the old key stays valid for a chosen time",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
  revokeKey: {
    method: "DELETE",
    path: "/manage/v1/keys/:keyId",
    summary: "Revoke an API key; requests with it return 401 from then on",
    ...ACCESS,
    role: "owner",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "keyId",
  },
} as const satisfies Record<string, EndpointEntry>;
