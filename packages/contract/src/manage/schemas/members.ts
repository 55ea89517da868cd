import { z } from "zod";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { checkPageQuery, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import { MEMBER_ROLES } from "../people.ts";
import type {
  AccountDeletion,
  AccountName,
  AccountOfInstallation,
  Archive,
  DeletedAccount,
  FreezeChange,
  ListedAccount,
  NamedAccount,
  PlanChange,
} from "../accounts.ts";
import type {
  Accepted,
  CreatedInvitation,
  CreatedPersonInvitation,
  Invitation,
  Member,
  NewInvitation,
  NewPersonInvitation,
  PersonChanges,
  PersonInvitation,
  PersonOfInstallation,
} from "../members.ts";
import {
  accountQuery,
  booleanField,
  EMAIL_LENGTH_MAX,
  emailField,
  integerField,
  momentField,
  shownNameField,
  none,
  pageOf,
  pageQuery,
  passwordField,
  textField,
  wordField,
} from "./request-fields.ts";

const roleSchema = z.enum(MEMBER_ROLES);
export const memberSchema: z.ZodType<Member> = z.strictObject({
  personId: idSchema,
  name: z.string(),
  email: z.string(),
  role: roleSchema,
  isPersonal: z.boolean(),
  since: timeSchema,
});

const invitationMembers = {
  invitationId: idSchema,
  email: z.string(),
  accountId: idSchema.nullable(),
  role: roleSchema,
  createdAt: timeSchema,
  expiresAt: timeSchema,
  acceptedAt: timeSchema.nullable(),
  revokedAt: timeSchema.nullable(),
  plan: z.enum(["pro", "none"]).nullable(),
  credits: countSchema.nullable(),
} as const;
const invitationSchema: z.ZodType<Invitation> = z.strictObject(invitationMembers);
const createdSchema: z.ZodType<CreatedInvitation> = z.strictObject({
  ...invitationMembers,
  link: z.string().nullable(),
});

const personInvitationMembers = { ...invitationMembers, hasPerson: z.boolean() } as const;
const personInvitationSchema: z.ZodType<PersonInvitation> = z.strictObject(personInvitationMembers);
const createdPersonSchema: z.ZodType<CreatedPersonInvitation> = z.strictObject({
  ...personInvitationMembers,
  link: z.string().nullable(),
});

const offerMembers = { email: z.string(), account: z.string().nullable(), invitedBy: z.string() } as const;
const acceptedSchema: z.ZodType<Accepted> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("signed_in"), personId: idSchema, accountId: idSchema.nullable() }),
  z.strictObject({ kind: z.literal("set_up"), ...offerMembers }),
  z.strictObject({ kind: z.literal("sign_in"), ...offerMembers }),
]);

const personSchema: z.ZodType<PersonOfInstallation> = z.strictObject({
  personId: idSchema,
  name: z.string(),
  email: z.string(),
  isOperator: z.boolean(),
  isFrozen: z.boolean(),
  linkAskedAt: timeSchema.nullable(),
  createdAt: timeSchema,
});

export const accountMembers = {
  accountId: idSchema,
  email: z.string(),
  name: z.string().nullable(),
  plan: z.enum(["pro", "none"]),
  planUntil: timeSchema.nullable(),
  createdAt: timeSchema,
} as const;
const accountSchema: z.ZodType<AccountOfInstallation> = z.strictObject(accountMembers);
const listedAccountSchema: z.ZodType<ListedAccount> = z.strictObject({
  ...accountMembers,
  available: z.int(),
  isFrozen: z.boolean(),
});

const personId = z.object({ personId: uuidField("personId") });
const invitationId = z.object({ invitationId: uuidField("invitationId") });
const accountId = z.object({ accountId: uuidField("accountId") });
const searchQuery = pageQuery.extend({ q: textField("q", 200).optional() }).check(checkPageQuery);
const newInvitationSchema = z.object({
  email: emailField,
  role: wordField("role", MEMBER_ROLES),
}) satisfies z.ZodType<NewInvitation>;
/** The same limit as the setting for new people. */
const CREDITS_MAX = 1_000_000_000;
const newPersonInvitationSchema = z.object({
  email: emailField,
  plan: wordField("plan", ["pro", "none"]).optional(),
  credits: integerField("credits", [0, CREDITS_MAX]).optional(),
}) satisfies z.ZodType<NewPersonInvitation>;
const changesSchema = z.object({
  email: emailField.optional(),
  isOperator: booleanField("isOperator").optional(),
  isFrozen: booleanField("isFrozen").optional(),
}) satisfies z.ZodType<PersonChanges>;

const accountNameSchema = z.object({ name: shownNameField("name", 100) }) satisfies z.ZodType<AccountName>;
const namedSchema: z.ZodType<NamedAccount> = z.strictObject({ accountId: idSchema, name: z.string() });

const deletionSchema = z.object({
  confirm: textField("confirm", EMAIL_LENGTH_MAX),
  prompts: wordField("prompts", ["remove", "keep"]),
}) satisfies z.ZodType<AccountDeletion>;
const deletedSchema: z.ZodType<DeletedAccount> = z.strictObject({
  accountId: idSchema,
  prompts: z.enum(["remove", "keep"]),
  askedAt: timeSchema,
  finishedAt: timeSchema.nullable(),
});
const archiveSchema: z.ZodType<Archive> = z.strictObject({ isFile: z.literal(true) });

export const membersSchemas = {
  exportAccount: { params: none, query: accountQuery, body: null, data: archiveSchema },
  deleteAccount: { params: none, query: none, body: deletionSchema, data: deletedSchema },
  exportAccountOf: { params: accountId, query: none, body: null, data: archiveSchema },
  deleteAccountOf: { params: accountId, query: none, body: deletionSchema, data: deletedSchema },
  getAccountDeletion: { params: accountId, query: none, body: null, data: deletedSchema },
  listMembers: { params: none, query: none, body: null, data: z.strictObject({ rows: z.array(memberSchema) }) },
  updateMember: {
    params: personId,
    query: none,
    body: z.object({ role: wordField("role", MEMBER_ROLES) }),
    data: memberSchema,
  },
  removeMember: { params: personId, query: none, body: null, data: memberSchema },
  updateAccount: { params: none, query: none, body: accountNameSchema, data: namedSchema },
  leaveAccount: { params: none, query: none, body: null, data: memberSchema },
  listInvitations: {
    params: none,
    query: pageQuery.check(checkPageQuery),
    body: null,
    data: pageOf(invitationSchema),
  },
  createInvitation: { params: none, query: none, body: newInvitationSchema, data: createdSchema },
  revokeInvitation: { params: invitationId, query: none, body: null, data: invitationSchema },
  acceptInvitation: {
    params: none,
    query: none,
    body: z.object({
      code: textField("code", 100),
      name: shownNameField("name", 100).optional(),
      password: passwordField.optional(),
    }),
    data: acceptedSchema,
  },
  joinAccount: {
    params: none,
    query: none,
    body: z.object({ code: textField("code", 100) }),
    data: z.strictObject({ accountId: idSchema.nullable() }),
  },
  listPeople: { params: none, query: searchQuery, body: null, data: pageOf(personSchema) },
  invitePerson: { params: none, query: none, body: newPersonInvitationSchema, data: createdPersonSchema },
  listPersonInvitations: { params: none, query: searchQuery, body: null, data: pageOf(personInvitationSchema) },
  revokePersonInvitation: { params: invitationId, query: none, body: null, data: invitationSchema },
  updatePerson: { params: personId, query: none, body: changesSchema, data: personSchema },
  signOutPerson: {
    params: personId,
    query: none,
    body: null,
    data: z.strictObject({ personId: idSchema, sessions: z.int() }),
  },
  createSignInLink: { params: personId, query: none, body: null, data: z.strictObject({ link: z.string() }) },
  listAccounts: { params: none, query: searchQuery, body: null, data: pageOf(listedAccountSchema) },
  setPlan: {
    params: accountId,
    query: none,
    body: z.object({
      plan: wordField("plan", ["pro", "none"]),
      until: momentField("until").optional(),
    }) satisfies z.ZodType<PlanChange>,
    data: accountSchema,
  },
  freezeAccount: {
    params: accountId,
    query: none,
    body: z.object({
      isFrozen: booleanField("isFrozen"),
      reason: textField("reason", 200),
    }) satisfies z.ZodType<FreezeChange>,
    data: z.strictObject({ accountId: idSchema, isFrozen: z.boolean() }),
  },
} satisfies Record<string, EndpointSchemas>;
