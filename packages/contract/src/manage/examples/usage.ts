import type { ShapesOf } from "../../endpoints.ts";
import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { usageSchemas } from "../schemas/usage.ts";

const ACCOUNT_ID = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
const PROMPT_ID = "019a2b77-90aa-7c1d-9e34-2f5b8d6c0a13";

const unasked = {
  keyId: null,
  keyName: null,
  promptId: null,
  promptSlug: null,
  promptTitle: null,
  model: null,
  accountId: null,
  accountEmail: null,
} as const;
const sums = { runs: 61, failed: 2, credits: 132, inputTokens: 48_210, outputTokens: 19_554 };
const span = { from: "2026-11-01", to: "2026-11-30" };

export const usageExamples: ExamplesOf<ShapesOf<typeof usageSchemas>> = {
  getUsage: {
    parameters: { by: "day,prompt", ...span, format: "json" },
    data: {
      ...span,
      rows: [
        {
          day: "2026-11-22",
          ...unasked,
          promptId: PROMPT_ID,
          promptSlug: "tea-poem",
          promptTitle: "A poem about tea",
          ...sums,
          costMicro: null,
        },
      ],
      isCut: false,
    },
  },
  getInstallationUsage: {
    parameters: { by: "account", accountId: ACCOUNT_ID, ...span, format: "json" },
    data: {
      ...span,
      rows: [
        {
          day: null,
          ...unasked,
          accountId: ACCOUNT_ID,
          accountEmail: "ada@example.org",
          ...sums,
          costMicro: 88_120_000,
        },
      ],
      isCut: false,
    },
  },
  getEarnings: {
    parameters: { by: "prompt", ...span, format: "json" },
    data: {
      ...span,
      rows: [
        {
          day: null,
          promptId: PROMPT_ID,
          promptSlug: "tea-poem",
          runs: 412,
          failed: 5,
          credits: 900,
          earned: "630.00",
        },
      ],
      isCut: false,
    },
  },
  grantCredits: {
    parameters: { "Idempotency-Key": "payment_3Qf8s2" },
    bodies: {
      topUp: { account: "ada@example.org", amount: 500, reason: "payment 3Qf8s2" },
      promotion: { account: ACCOUNT_ID, amount: 50, reason: "spring campaign", expiresAt: "2027-06-30T00:00:00Z" },
    },
    data: { accountId: ACCOUNT_ID, amount: 500, expiresAt: null, isRepeated: false, credits: 632 },
  },
};
