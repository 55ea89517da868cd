import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { ShapesOf } from "../../endpoints.ts";
import type { membersSchemas } from "../schemas/members.ts";

const PERSON_ID = "019a2b10-7a41-7c3e-9d52-1f0b6c8e2a77";
const ACCOUNT_ID = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
const INVITATION_ID = "019a2b16-11d0-7d2f-8c47-93a0f5b1e6c2";
const CODE = "fJ0sPq3vXb8nK2wZ5yTc7A";

const member = {
  personId: PERSON_ID,
  name: "Grace Hopper",
  email: "grace@example.org",
  role: "member",
  isPersonal: false,
  since: "2026-11-22T10:05:00.000Z",
} as const;
const invitation = {
  invitationId: INVITATION_ID,
  email: "grace@example.org",
  accountId: ACCOUNT_ID,
  role: "member",
  createdAt: "2026-11-22T10:00:00.000Z",
  expiresAt: "2026-11-29T10:00:00.000Z",
  acceptedAt: null,
  revokedAt: null,
  plan: null,
  credits: null,
} as const;
const personInvitation = { ...invitation, accountId: null, role: "owner", plan: "pro", credits: 500 } as const;
const deletion = { confirm: "ada@example.org", prompts: "remove" } as const;
const deleted = {
  accountId: ACCOUNT_ID,
  prompts: "remove",
  askedAt: "2026-11-22T10:00:00.000Z",
  finishedAt: null,
} as const;
const link = `https://prompts.example.com/invitation#${CODE}`;
const person = {
  personId: PERSON_ID,
  name: "Grace Hopper",
  email: "grace@example.org",
  isOperator: false,
  isFrozen: false,
  linkAskedAt: null,
  createdAt: "2026-11-22T10:05:00.000Z",
} as const;
const account = {
  accountId: ACCOUNT_ID,
  email: "ada@example.org",
  name: "Ada Lovelace",
  plan: "pro",
  planUntil: "2027-12-31T23:59:59.000Z",
  createdAt: "2026-11-22T09:00:00.000Z",
} as const;

export const membersExamples: ExamplesOf<ShapesOf<typeof membersSchemas>> = {
  listMembers: { data: { rows: [member] } },
  updateMember: {
    parameters: { personId: PERSON_ID },
    bodies: { owner: { role: "owner" } },
    data: { ...member, role: "owner" },
  },
  removeMember: { parameters: { personId: PERSON_ID }, data: member },
  updateAccount: {
    bodies: { name: { name: "Ada & Grace" } },
    data: { accountId: ACCOUNT_ID, name: "Ada & Grace" },
  },
  leaveAccount: { data: member },
  listInvitations: { parameters: { limit: 10 }, data: { rows: [invitation], hasMore: false } },
  createInvitation: {
    bodies: { member: { email: "grace@example.org", role: "member" } },
    data: { ...invitation, link },
  },
  revokeInvitation: {
    parameters: { invitationId: INVITATION_ID },
    data: { ...invitation, revokedAt: "2026-11-22T11:00:00.000Z" },
  },
  acceptInvitation: {
    bodies: {
      code: { code: CODE },
      setUp: { code: CODE, name: "Grace Hopper", password: "correct horse battery staple" },
    },
    data: { kind: "signed_in", personId: PERSON_ID, accountId: ACCOUNT_ID },
  },
  joinAccount: { bodies: { code: { code: CODE } }, data: { accountId: ACCOUNT_ID } },
  exportAccount: { parameters: { account: ACCOUNT_ID }, data: { isFile: true } },
  deleteAccount: { bodies: { remove: deletion }, data: deleted },
  exportAccountOf: { parameters: { accountId: ACCOUNT_ID }, data: { isFile: true } },
  deleteAccountOf: {
    parameters: { accountId: ACCOUNT_ID },
    bodies: { remove: deletion, keep: { ...deletion, prompts: "keep" } },
    data: deleted,
  },
  getAccountDeletion: {
    parameters: { accountId: ACCOUNT_ID },
    data: { ...deleted, finishedAt: "2026-11-22T10:01:00.000Z" },
  },
  listPeople: { parameters: { limit: 10, q: "grace" }, data: { rows: [person], hasMore: false } },
  invitePerson: {
    bodies: {
      person: { email: "grace@example.org" },
      withTerms: { email: "grace@example.org", plan: "pro", credits: 500 },
    },
    data: { ...personInvitation, hasPerson: false, link },
  },
  listPersonInvitations: {
    parameters: { limit: 10, q: "grace" },
    data: { rows: [{ ...personInvitation, hasPerson: false }], hasMore: false },
  },
  revokePersonInvitation: {
    parameters: { invitationId: INVITATION_ID },
    data: { ...personInvitation, revokedAt: "2026-11-22T11:00:00.000Z" },
  },
  updatePerson: {
    parameters: { personId: PERSON_ID },
    bodies: { operator: { isOperator: true }, freeze: { isFrozen: true }, address: { email: "ada@example.com" } },
    data: { ...person, isOperator: true },
  },
  signOutPerson: { parameters: { personId: PERSON_ID }, data: { personId: PERSON_ID, sessions: 2 } },
  createSignInLink: {
    parameters: { personId: PERSON_ID },
    data: { link: `https://prompts.example.com/welcome#${CODE}` },
  },
  listAccounts: {
    parameters: { limit: 10, q: "ada" },
    data: { rows: [{ ...account, available: 4_998, isFrozen: false }], hasMore: false },
  },
  setPlan: {
    parameters: { accountId: ACCOUNT_ID },
    bodies: { pro: { plan: "pro", until: "2027-12-31T23:59:59Z" }, none: { plan: "none" } },
    data: account,
  },
  freezeAccount: {
    parameters: { accountId: ACCOUNT_ID },
    bodies: { freeze: { isFrozen: true, reason: "refund in dispute" } },
    data: { accountId: ACCOUNT_ID, isFrozen: true },
  },
};
