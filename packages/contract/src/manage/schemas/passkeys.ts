import { z } from "zod";
import { describeType } from "../../printable-text.ts";
import { idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { defineField, report, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import type {
  CredentialJson,
  CredentialOptions,
  NewPasskey,
  Passkey,
  PasskeyRequest,
  PasskeySignIn,
} from "../people.ts";
import { none, nameField, passwordField } from "./request-fields.ts";

const passkeySchema: z.ZodType<Passkey> = z.strictObject({
  passkeyId: idSchema,
  name: z.string(),
  isBackedUp: z.boolean(),
  createdAt: timeSchema,
  lastUsedAt: timeSchema.nullable(),
});

const optionsSchema: z.ZodType<CredentialOptions> = z.strictObject({ options: z.record(z.string(), z.unknown()) });

/** The browser's data is verified by its signature; here it only has to be an object. */
const credentialField = defineField<CredentialJson>({ type: "object", additionalProperties: true }, (payload) => {
  const { value } = payload;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  const isMissing = value === undefined || value === null;
  const message = isMissing ? "response is required." : `response must be an object, got ${describeType(value)}.`;
  report(payload, { code: isMissing ? "required" : "invalid_type", message });
});

export const passkeysSchemas = {
  listPasskeys: { params: none, query: none, body: null, data: z.strictObject({ rows: z.array(passkeySchema) }) },
  beginPasskey: {
    params: none,
    query: none,
    body: z.object({ password: passwordField.optional() }) satisfies z.ZodType<PasskeyRequest>,
    data: optionsSchema,
  },
  addPasskey: {
    params: none,
    query: none,
    body: z.object({ name: nameField("name", 100), response: credentialField }) satisfies z.ZodType<NewPasskey>,
    data: passkeySchema,
  },
  removePasskey: {
    params: z.object({ passkeyId: uuidField("passkeyId") }),
    query: none,
    body: null,
    data: passkeySchema,
  },
  beginPasskeySignIn: { params: none, query: none, body: null, data: optionsSchema },
  signInWithPasskey: {
    params: none,
    query: none,
    body: z.object({ response: credentialField }) satisfies z.ZodType<PasskeySignIn>,
    data: z.strictObject({ personId: idSchema }),
  },
} satisfies Record<string, EndpointSchemas>;
