import type { EndpointEntry } from "../../endpoints.ts";

export const usageEndpoints = {
  getUsage: {
    method: "GET",
    path: "/manage/v1/usage",
    summary: "The account's usage by day, key, prompt, or model",
    isAlsoCsv: true,
    responseHeaders: ["X-Cut"],
    auth: ["token", "session"],
    role: "member",
    scope: "credits:read",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  getInstallationUsage: {
    method: "GET",
    path: "/manage/v1/system/usage",
    summary: "Usage of all accounts or one account, with provider costs",
    isAlsoCsv: true,
    responseHeaders: ["X-Cut"],
    auth: ["token", "session"],
    role: "operator",
    scope: "operator",
    errors: ["VALIDATION_ERROR"],
  },
  getEarnings: {
    method: "GET",
    path: "/manage/v1/earnings",
    summary: "The account's earnings as an author, by prompt or day",
    isAlsoCsv: true,
    responseHeaders: ["X-Cut"],
    auth: ["token", "session"],
    role: "member",
    scope: "credits:read",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  grantCredits: {
    method: "POST",
    path: "/manage/v1/credits/grants",
    summary: "Grant credits to an account, once per Idempotency-Key",
    auth: ["token", "session"],
    role: "operator",
    scope: "operator",
    headers: [
      {
        name: "Idempotency-Key",
        description:
          "Required. 1 to 255 visible ASCII characters. For each account, the same key grants credits only once, forever.",
        form: { pattern: /^[\x21-\x7e]{1,255}$/, rule: "must be 1 to 255 visible ASCII characters without spaces" },
      },
    ],
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "accountId",
  },
} as const satisfies Record<string, EndpointEntry>;
