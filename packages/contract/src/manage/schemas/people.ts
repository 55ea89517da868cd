import { z } from "zod";
import { SCOPES } from "../../credentials.ts";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { checkPageQuery, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import {
  MEMBER_ROLES,
  type AuditEntry,
  type ChangedEmail,
  type CreatedToken,
  type EmailChangeRequest,
  type Features,
  type ListedSession,
  type NewToken,
  type RequestedEmailChange,
  type SessionInfo,
  type Token,
  type Welcome,
} from "../people.ts";
import {
  emailField,
  integerField,
  nameField,
  shownNameField,
  none,
  pageOf,
  pageQuery,
  passwordField,
  scopesField,
  textField,
  wordField,
} from "./request-fields.ts";

const featuresSchema: z.ZodType<Features> = z.strictObject({
  signUp: z.enum(["off", "invite", "open"]),
  signInWith: z.array(z.string()),
  oidcName: z.string().nullable(),
  passkeys: z.boolean(),
  mail: z.boolean(),
  newAccounts: z.strictObject({ plan: z.enum(["pro", "none"]), credits: countSchema }),
  authorSharePercent: countSchema,
});

const sessionSchema: z.ZodType<SessionInfo> = z.strictObject({
  credential: z.enum(["session", "token"]),
  person: z.strictObject({ personId: idSchema, name: z.string(), email: z.string(), isOperator: z.boolean() }),
  accountId: idSchema,
  accounts: z.array(
    z.strictObject({
      accountId: idSchema,
      name: z.string(),
      email: z.string(),
      role: z.enum(MEMBER_ROLES),
      isPersonal: z.boolean(),
      hasPlan: z.boolean(),
    }),
  ),
  scopes: z.array(z.enum(SCOPES)).nullable(),
  features: featuresSchema,
});

const listedSessionSchema: z.ZodType<ListedSession> = z.strictObject({
  sessionId: idSchema,
  isThis: z.boolean(),
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
  createdAt: timeSchema,
  lastUsedAt: timeSchema,
});

const tokenMembers = {
  tokenId: idSchema,
  name: z.string(),
  display: z.string(),
  accountId: idSchema,
  scopes: z.array(z.enum(SCOPES)),
  createdAt: timeSchema,
  expiresAt: timeSchema,
  lastUsedAt: timeSchema.nullable(),
  revokedAt: timeSchema.nullable(),
} as const;
const tokenSchema: z.ZodType<Token> = z.strictObject(tokenMembers);

const createdTokenSchema: z.ZodType<CreatedToken> = z.strictObject({ ...tokenMembers, token: z.string() });

const newTokenSchema = z.object({
  name: nameField("name", 100),
  scopes: scopesField,
  expiresInDays: integerField("expiresInDays", [1, 366]),
}) satisfies z.ZodType<NewToken>;

const welcomeBodySchema = z.object({
  code: textField("code", 100),
  email: textField("email", 254).optional(),
  password: passwordField.optional(),
  name: shownNameField("name", 100).optional(),
});

const welcomeSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("signed_in"), personId: idSchema }),
  z.strictObject({ kind: z.literal("set_up"), email: z.string().nullable() }),
]) satisfies z.ZodType<Welcome>;

const auditSchema = z.strictObject({
  auditId: idSchema,
  at: timeSchema,
  actor: z.enum(["session", "token", "terminal", "none"]),
  personId: idSchema.nullable(),
  email: z.string().nullable(),
  tokenId: idSchema.nullable(),
  accountId: idSchema.nullable(),
  action: z.string(),
  subject: z.string().nullable(),
  subjectName: z.string().nullable(),
  address: z.string().nullable(),
  requestId: idSchema.nullable(),
  outcome: z.string(),
}) satisfies z.ZodType<AuditEntry>;

const auditQuery = pageQuery
  .extend({
    action: textField("action", 100).optional(),
    q: textField("q", 100).optional(),
    reads: wordField("reads", ["with", "without"]).optional(),
    personId: uuidField("personId").optional(),
    accountId: uuidField("accountId").optional(),
    outcome: wordField("outcome", ["success", "failure"]).optional(),
  })
  .check(checkPageQuery);

export const peopleSchemas = {
  getFeatures: { params: none, query: none, body: null, data: featuresSchema },
  getSession: { params: none, query: none, body: null, data: sessionSchema },
  listSessions: { params: none, query: none, body: null, data: z.strictObject({ rows: z.array(listedSessionSchema) }) },
  endSession: {
    params: z.object({ sessionId: uuidField("sessionId") }),
    query: none,
    body: null,
    data: z.strictObject({ sessionId: idSchema }),
  },
  welcome: { params: none, query: none, body: welcomeBodySchema, data: welcomeSchema },
  requestEmailChange: {
    params: none,
    query: none,
    body: z.object({
      email: emailField,
      password: passwordField.optional(),
    }) satisfies z.ZodType<EmailChangeRequest>,
    data: z.strictObject({
      personId: idSchema,
      email: z.string(),
      expiresAt: timeSchema,
    }) satisfies z.ZodType<RequestedEmailChange>,
  },
  confirmEmailChange: {
    params: none,
    query: none,
    body: z.object({ code: textField("code", 100) }),
    data: z.strictObject({ personId: idSchema, email: z.string() }) satisfies z.ZodType<ChangedEmail>,
  },
  listTokens: { params: none, query: pageQuery.check(checkPageQuery), body: null, data: pageOf(tokenSchema) },
  createToken: {
    params: none,
    query: none,
    body: newTokenSchema,
    data: createdTokenSchema,
  },
  revokeToken: { params: z.object({ tokenId: uuidField("tokenId") }), query: none, body: null, data: tokenSchema },
  listAudit: { params: none, query: auditQuery, body: null, data: pageOf(auditSchema) },
} satisfies Record<string, EndpointSchemas>;
