import type { ShapesOf } from "../../endpoints.ts";
import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { keysSchemas } from "../schemas/keys.ts";

const KEY_ID = "019a2c20-1b3e-7d54-8f02-6a9c1e5b7d40";
const NEW_KEY_ID = "019a2c31-5f70-7a12-b3c6-0d8e4f2a9b61";
const PROMPT_ID = "019a2b77-90aa-7c1d-9e34-2f5b8d6c0a13";

const key = {
  keyId: KEY_ID,
  name: "nightly report",
  display: "pd_R4tYw…k9Qz",
  state: "valid",
  createdAt: "2026-11-01T10:00:00.000Z",
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: "2026-11-22T03:00:04.000Z",
  lastUsedFrom: "203.0.113.24",
  monthlyCap: 500,
  usedThisMonth: 132,
  promptIds: [PROMPT_ID],
  last30Days: { runs: 61, failed: 2, credits: 132 },
} as const;
const unused = {
  createdAt: "2026-11-22T10:00:00.000Z",
  lastUsedAt: null,
  lastUsedFrom: null,
  last30Days: { runs: 0, failed: 0, credits: 0 },
};
const API_KEY = "pd_8sK1mB6vXc3nH7jD2fG5qLzPaEuIo0tR4tY9w";

export const keysExamples: ExamplesOf<ShapesOf<typeof keysSchemas>> = {
  listKeys: {
    parameters: { limit: 10, startingAfter: KEY_ID, revoked: "without" },
    data: { rows: [key], hasMore: false },
  },
  createKey: {
    bodies: {
      plain: { name: "laptop" },
      limited: { name: key.name, monthlyCap: 500, expiresAt: "2027-12-31T23:59:59Z", promptIds: [PROMPT_ID] },
    },
    data: { ...key, ...unused, usedThisMonth: 0, display: "pd_8sK1m…tY9w", apiKey: API_KEY },
  },
  getKey: { parameters: { keyId: KEY_ID }, data: key },
  updateKey: {
    parameters: { keyId: KEY_ID },
    bodies: { cap: { monthlyCap: 800 }, allPrompts: { promptIds: null } },
    data: { ...key, monthlyCap: 800 },
  },
  rollKey: {
    parameters: { keyId: KEY_ID },
    bodies: { day: { overlapHours: 24 } },
    data: {
      ...key,
      ...unused,
      keyId: NEW_KEY_ID,
      display: "pd_8sK1m…tY9w",
      apiKey: API_KEY,
      oldKeyId: KEY_ID,
      oldKeyExpiresAt: "2026-11-23T10:00:00.000Z",
    },
  },
  revokeKey: {
    parameters: { keyId: KEY_ID },
    data: { ...key, state: "revoked", revokedAt: "2026-11-22T11:30:00.000Z" },
  },
};
