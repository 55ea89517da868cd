import { z } from "zod";
import { suggestName } from "../../names/suggest-name.ts";
import { quoteText } from "../../printable-text.ts";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { defineField, report, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import type { Grant, NewGrant } from "../credits.ts";
import { USAGE_DIMENSIONS, type EarningsReport, type UsageDimension, type UsageReport } from "../usage.ts";
import { dayField, integerField, momentField, none, textField, wordField } from "./request-fields.ts";

const AMOUNT_MAX = 1_000_000_000_000;
const DIMENSIONS_MAX = 3;

const day = z.string().regex(/^\d{4}-\d\d-\d\d$/);

const usageSchema: z.ZodType<UsageReport> = z.strictObject({
  from: day,
  to: day,
  rows: z.array(
    z.strictObject({
      day: day.nullable(),
      keyId: idSchema.nullable(),
      keyName: z.string().nullable(),
      promptId: idSchema.nullable(),
      promptSlug: z.string().nullable(),
      promptTitle: z.string().nullable(),
      model: z.string().nullable(),
      accountId: idSchema.nullable(),
      accountEmail: z.string().nullable(),
      runs: countSchema,
      failed: countSchema,
      credits: countSchema,
      inputTokens: countSchema,
      outputTokens: countSchema,
      costMicro: countSchema.nullable(),
    }),
  ),
  isCut: z.boolean(),
});

const earningsSchema: z.ZodType<EarningsReport> = z.strictObject({
  from: day,
  to: day,
  rows: z.array(
    z.strictObject({
      day: day.nullable(),
      promptId: idSchema,
      promptSlug: z.string(),
      runs: countSchema,
      failed: countSchema,
      credits: countSchema,
      earned: z.string().regex(/^\d+\.\d\d$/),
    }),
  ),
  isCut: z.boolean(),
});

/** A comma-separated list of dimensions without duplicates. */
function dimensionsField(allowed: readonly UsageDimension[]): z.ZodType<string> {
  const schema = { type: "string", default: "day", pattern: `^(${allowed.join("|")})(,(${allowed.join("|")}))*$` };
  return defineField<string>(schema, (payload) => {
    const text = typeof payload.value === "string" ? payload.value : "";
    const words = text.split(",");
    const known = allowed.filter((dimension) => words.includes(dimension));
    if (known.length === words.length && known.length <= DIMENSIONS_MAX) {
      payload.value = known.join(",");
      return;
    }
    const message = `by must be 1 to ${DIMENSIONS_MAX} of ${allowed.join(", ")}, separated by commas. Got ${quoteText(text)}.${meantBy(words, allowed)}`;
    report(payload, { code: "invalid_value", message });
  });
}

function meantBy(words: readonly string[], allowed: readonly UsageDimension[]): string {
  const unknown = words.filter((word) => !allowed.some((dimension) => dimension === word));
  const [meant] = unknown.flatMap((word) => suggestName(word, allowed) ?? []);
  return meant === undefined ? "" : ` Did you mean "${meant}"?`;
}

const span = { from: dayField("from").optional(), to: dayField("to").optional() };
const format = wordField("format", ["json", "csv"]).optional();
const ofAccount = USAGE_DIMENSIONS.filter((dimension) => dimension !== "account");

const newGrantSchema = z.object({
  account: textField("account", 254),
  amount: integerField("amount", [1, AMOUNT_MAX]),
  reason: textField("reason", 200).optional(),
  expiresAt: momentField("expiresAt").optional(),
}) satisfies z.ZodType<NewGrant>;

const grantSchema: z.ZodType<Grant> = z.strictObject({
  accountId: idSchema,
  amount: countSchema,
  expiresAt: timeSchema.nullable(),
  isRepeated: z.boolean(),
  credits: z.int(),
});

export const usageSchemas = {
  getUsage: {
    params: none,
    query: z.object({ by: dimensionsField(ofAccount).optional(), ...span, format }),
    body: null,
    data: usageSchema,
  },
  getInstallationUsage: {
    params: none,
    query: z.object({
      by: dimensionsField(USAGE_DIMENSIONS).optional(),
      accountId: uuidField("accountId").optional(),
      ...span,
      format,
    }),
    body: null,
    data: usageSchema,
  },
  getEarnings: {
    params: none,
    query: z.object({ by: wordField("by", ["prompt", "day"]).optional(), ...span, format }),
    body: null,
    data: earningsSchema,
  },
  grantCredits: { params: none, query: none, body: newGrantSchema, data: grantSchema },
} satisfies Record<string, EndpointSchemas>;
