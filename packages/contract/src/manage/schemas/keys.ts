import { z } from "zod";
import { ID_FORM } from "../../names/prompt-names.ts";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { checkPageQuery, defineField, report, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import {
  KEY_STATES,
  type CreatedKey,
  type Key,
  type KeyChanges,
  type ListKeysQuery,
  type NewKeyBody,
  type RolledKey,
} from "../keys.ts";
import { integerField, momentField, none, pageOf, pageQuery, nameField, wordField } from "./request-fields.ts";

const CAP_MAX = 1_000_000_000_000;
const PROMPTS_MAX = 100;
const OVERLAP_HOURS_MAX = 2_160;

const keyMembers = {
  keyId: idSchema,
  name: z.string(),
  display: z.string(),
  state: z.enum(KEY_STATES),
  createdAt: timeSchema,
  expiresAt: timeSchema.nullable(),
  revokedAt: timeSchema.nullable(),
  lastUsedAt: timeSchema.nullable(),
  lastUsedFrom: z.string().nullable(),
  monthlyCap: countSchema.nullable(),
  usedThisMonth: countSchema,
  promptIds: z.array(idSchema).nullable(),
  last30Days: z.strictObject({ runs: countSchema, failed: countSchema, credits: countSchema }),
} as const;
const keySchema: z.ZodType<Key> = z.strictObject(keyMembers);
const createdKeySchema: z.ZodType<CreatedKey> = z.strictObject({ ...keyMembers, apiKey: z.string() });
const rolledKeySchema: z.ZodType<RolledKey> = z.strictObject({
  ...keyMembers,
  apiKey: z.string(),
  oldKeyId: idSchema,
  oldKeyExpiresAt: timeSchema,
});

const promptIdsField = defineField<readonly string[] | null | undefined>(
  { type: ["array", "null"], items: { type: "string", format: "uuid" }, minItems: 1, maxItems: PROMPTS_MAX },
  (payload) => {
    const { value } = payload;
    if (value === undefined || value === null) return;
    const isList = Array.isArray(value) && value.length > 0 && value.length <= PROMPTS_MAX;
    if (isList && value.every((id) => typeof id === "string" && ID_FORM.test(id))) {
      payload.value = [...new Set(value.map((id: string) => id.toLowerCase()))];
      return;
    }
    const message = `promptIds must be a list of 1 to ${PROMPTS_MAX} prompt UUIDs, or null for all prompts.`;
    report(payload, { code: "invalid_value", message });
  },
);

const terms = {
  expiresAt: momentField("expiresAt").optional(),
  monthlyCap: integerField("monthlyCap", [0, CAP_MAX]).nullable().optional(),
  promptIds: promptIdsField.optional(),
};
const newKeySchema = z.object({ name: nameField("name", 100), ...terms }) satisfies z.ZodType<NewKeyBody>;
const keyChangesSchema = z.object({
  name: nameField("name", 100).optional(),
  ...terms,
}) satisfies z.ZodType<KeyChanges>;
const rollSchema = z.object({ overlapHours: integerField("overlapHours", [0, OVERLAP_HOURS_MAX]).optional() });
const listKeysQuery = pageQuery
  .extend({ revoked: wordField("revoked", ["with", "without"]).optional() })
  .check(checkPageQuery) satisfies z.ZodType<ListKeysQuery>;
const keyId = z.object({ keyId: uuidField("keyId") });

export const keysSchemas = {
  listKeys: { params: none, query: listKeysQuery, body: null, data: pageOf(keySchema) },
  createKey: { params: none, query: none, body: newKeySchema, data: createdKeySchema },
  getKey: { params: keyId, query: none, body: null, data: keySchema },
  updateKey: { params: keyId, query: none, body: keyChangesSchema, data: keySchema },
  rollKey: { params: keyId, query: none, body: rollSchema, data: rolledKeySchema },
  revokeKey: { params: keyId, query: none, body: null, data: keySchema },
} satisfies Record<string, EndpointSchemas>;
