import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { peopleSchemas } from "../schemas/people.ts";
import type { ShapesOf } from "../../endpoints.ts";

const PERSON_ID = "019a2b10-7a41-7c3e-9d52-1f0b6c8e2a77";
const ACCOUNT_ID = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
const TOKEN_ID = "019a2b15-03c2-7f6a-b0d4-8e1c5a9f2d63";
const SESSION_ID = "019a2b15-03d4-7c20-8f1e-6a9d2b4c8e70";
const AUDIT_ID = "019a2b15-03c9-71b5-a2e8-4d7f0b6c9a15";
const REQUEST_ID = "019a2b15-03c1-7a08-94f3-2b6e8d1c7f50";

const token = {
  tokenId: TOKEN_ID,
  name: "publish from CI",
  display: "pdm_R4tY…k9Qz",
  accountId: ACCOUNT_ID,
  scopes: ["prompts:read", "prompts:write"],
  createdAt: "2026-11-22T10:00:00.000Z",
  expiresAt: "2027-02-20T10:00:00.000Z",
  lastUsedAt: null,
  revokedAt: null,
} as const;

const features = {
  signUp: "invite",
  signInWith: ["github", "oidc"],
  oidcName: "Example Inc.",
  passkeys: true,
  mail: true,
  newAccounts: { plan: "none", credits: 0 },
  authorSharePercent: 30,
} as const;

export const peopleExamples: ExamplesOf<ShapesOf<typeof peopleSchemas>> = {
  getFeatures: { data: features },
  getSession: {
    data: {
      credential: "session",
      person: { personId: PERSON_ID, name: "Ada Lovelace", email: "ada@example.org", isOperator: false },
      accountId: ACCOUNT_ID,
      accounts: [
        {
          accountId: ACCOUNT_ID,
          name: "Ada Lovelace",
          email: "ada@example.org",
          role: "owner",
          isPersonal: true,
          hasPlan: true,
        },
      ],
      scopes: null,
      features,
    },
  },
  listSessions: {
    data: {
      rows: [
        {
          sessionId: SESSION_ID,
          isThis: true,
          address: "203.0.113.7",
          userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
          createdAt: "2026-11-20T10:00:00.000Z",
          lastUsedAt: "2026-11-22T10:00:00.000Z",
        },
      ],
    },
  },
  endSession: { parameters: { sessionId: SESSION_ID }, data: { sessionId: SESSION_ID } },
  welcome: {
    bodies: {
      code: { code: "fJ0sPq3vXb8nK2wZ5yTc7A" },
      setUp: {
        code: "fJ0sPq3vXb8nK2wZ5yTc7A",
        email: "ada@example.org",
        password: "correct horse battery staple",
        name: "Ada Lovelace",
      },
    },
    data: { kind: "signed_in", personId: PERSON_ID },
  },
  requestEmailChange: {
    bodies: { change: { email: "ada@example.com", password: "correct horse battery staple" } },
    data: { personId: PERSON_ID, email: "ada@example.com", expiresAt: "2026-11-22T11:00:00.000Z" },
  },
  confirmEmailChange: {
    bodies: { confirm: { code: "q7Lr2MxV9dTk4ZbHs0WcYg" } },
    data: { personId: PERSON_ID, email: "ada@example.com" },
  },
  listTokens: { parameters: { limit: 10, startingAfter: TOKEN_ID }, data: { rows: [token], hasMore: false } },
  createToken: {
    bodies: { publish: { name: token.name, scopes: token.scopes, expiresInDays: 90 } },
    data: { ...token, token: "pdm_R4tYw8sK1mB6vXc3nH7jD2fG5qLzPaEuIo0t1Ck9Qz" },
  },
  revokeToken: {
    parameters: { tokenId: TOKEN_ID },
    data: { ...token, revokedAt: "2026-11-22T11:30:00.000Z" },
  },
  listAudit: {
    parameters: { limit: 10, q: "token", reads: "without", outcome: "success" },
    data: {
      rows: [
        {
          auditId: AUDIT_ID,
          at: "2026-11-22T10:00:00.000Z",
          actor: "session",
          personId: PERSON_ID,
          email: "ada@example.org",
          tokenId: null,
          accountId: ACCOUNT_ID,
          action: "createToken",
          subject: TOKEN_ID,
          subjectName: token.name,
          address: "203.0.113.7",
          requestId: REQUEST_ID,
          outcome: "SUCCESS",
        },
      ],
      hasMore: false,
    },
  },
};
