import type { Issue } from "@promptd/contract";
import { ACCOUNT_HEADER, type Invitation, type Member } from "@promptd/contract/manage";
import type { ManageHandlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { invalid, notFound, orNotFound, type Problem } from "../platform/problem.ts";
import { acceptInvitation, invite, joinAccount } from "./links/invitations.ts";
import { listInvitations, listPersonInvitations, revokeInvitation } from "./links/invitations-store.ts";
import { deleteMember, listMembers, lockMembers, updateRole, type MemberOfAccount } from "./members-store.ts";
import {
  clearLinkRequest,
  deleteSessions,
  findPerson,
  findPersonByEmail,
  isFrozenPerson,
  listPeople,
  lockOperators,
  updatePerson,
} from "./people-store.ts";
import type { PeopleContext } from "./people-context.ts";
import { actorOf, browserOf, ownerOf } from "./people-manage-routes.ts";
import { changeEmail } from "./sign-in/email-change.ts";
import { mintCode, welcomeLink } from "./links/sign-in-codes.ts";

export function membersManageRoutes(options: PeopleContext) {
  return { ...membersOf(options), ...invitationsOf(options), ...peopleOf(options) };
}

/** What identifies the member in a request: a parameter, or the account that the person acts in. */
const PERSON = ["path", "personId"] as const;
const CHOSEN = ["header", ACCOUNT_HEADER] as const;

function membersOf({ db }: PeopleContext) {
  return {
    listMembers: async (_input, { caller }) => ({ data: { rows: await listMembers(db, caller.accountId) } }),
    updateMember: async ({ params: { personId }, body: { role } }, { caller: { accountId } }) => {
      const data = await db.tx(async (tx) => {
        const members = await lockMembers(tx, accountId);
        const member = requireMember(members, personId);
        if (role === "member" && member.isPersonal)
          throw refusal(PERSON, "This is the person's personal account, so they must stay its owner.");
        if (role === "member") requireOtherOwner(members, personId, PERSON);
        await updateRole(tx, { accountId, personId }, role);
        return { ...member, role };
      });
      return { data };
    },
    removeMember: async ({ params: { personId } }, { caller: { accountId } }) => ({
      data: await removeMember(db, { accountId, personId }, PERSON),
    }),
    leaveAccount: async (_input, context) => ({ data: await removeMember(db, ownerOf(context), CHOSEN) }),
  } satisfies Partial<ManageHandlers>;
}

/**
 * Also removes people who leave on their own. @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR if they must stay.
 * @param path the path of what names the person in the request.
 */
function removeMember(db: Database, { accountId, personId }: MemberOfAccount, path: Issue["path"]): Promise<Member> {
  return db.tx(async (tx) => {
    const members = await lockMembers(tx, accountId);
    const member = requireMember(members, personId);
    if (member.isPersonal) throw refusal(path, "This is the person's personal account, which they cannot leave.");
    requireOtherOwner(members, personId, path);
    await deleteMember(tx, { accountId, personId });
    return member;
  });
}

function invitationsOf(options: PeopleContext) {
  const { db } = options;
  return {
    listInvitations: async ({ query }, { caller }) => ({ data: await listInvitations(db, caller.accountId, query) }),
    createInvitation: async ({ body }, context) => {
      const { accountId } = context.caller;
      const given = { ...body, accountId, invitedBy: actorOf(context).personId, plan: null, credits: null };
      return { data: await invite(given, options) };
    },
    revokeInvitation: async ({ params: { invitationId } }, { caller }) => ({
      data: await revoke(db, caller.accountId, invitationId),
    }),
    acceptInvitation: async ({ body }, context) => {
      const { data, cookies } = await acceptInvitation(body, browserOf(context, options), options);
      return { data, headers: cookies.length === 0 ? {} : { "set-cookie": cookies } };
    },
    joinAccount: async ({ body: { code } }, context) => ({
      data: { accountId: await joinAccount(code, actorOf(context).personId, options) },
    }),
  } satisfies Partial<ManageHandlers>;
}

function peopleOf(options: PeopleContext) {
  const { db, publicUrl } = options;
  return {
    listPeople: async ({ query }) => ({ data: await listPeople(db, query) }),
    invitePerson: async ({ body: { email, plan = null, credits = null } }, context) => {
      const invitedBy = actorOf(context).personId;
      const hasPerson = (await findPersonByEmail(db, email)) !== null;
      const made = await invite({ email, role: "owner", accountId: null, invitedBy, plan, credits }, options);
      return { data: { ...made, hasPerson } };
    },
    listPersonInvitations: async ({ query }) => ({ data: await listPersonInvitations(db, query) }),
    revokePersonInvitation: async ({ params: { invitationId } }) => ({ data: await revoke(db, null, invitationId) }),
    updatePerson: async ({ params: { personId }, body }) => {
      const data = await db.tx(async (tx) => {
        const operators = await lockOperators(tx);
        const isLast = operators.length === 1 && operators[0] === personId;
        if (isLast && (body.isOperator === false || body.isFrozen === true)) {
          throw refusal(PERSON, "This person is the only operator. Make someone else an operator first.");
        }
        const person = await updatePerson(tx, personId, body);
        if (person === null || body.email === undefined) return person;
        await changeEmail(tx, personId, { email: body.email, isVerified: false });
        return { ...person, email: body.email.toLowerCase() };
      });
      if (data === null) throw notFound("person", personId);
      return { data };
    },
    signOutPerson: async ({ params: { personId } }) => {
      orNotFound(await findPerson(db, personId), "person", personId);
      return { data: { personId, sessions: await deleteSessions(db, personId) } };
    },
    createSignInLink: async ({ params: { personId } }) => {
      orNotFound(await findPerson(db, personId), "person", personId);
      if (await isFrozenPerson(db, personId))
        throw refusal(PERSON, "This person's access is frozen. Unfreeze it first.");
      const code = await mintCode(db, { personId, accountId: null, makesOperator: false, signsIn: false });
      await clearLinkRequest(db, personId);
      return { data: { link: welcomeLink(publicUrl(), code) } };
    },
  } satisfies Partial<ManageHandlers>;
}

async function revoke(db: Database, accountId: string | null, invitationId: string): Promise<Invitation> {
  return orNotFound(await revokeInvitation(db, accountId, invitationId), "open invitation", invitationId);
}

function requireMember(members: readonly Member[], personId: string): Member {
  const member = members.find((one) => one.personId === personId);
  if (member === undefined) throw notFound("member", personId);
  return member;
}

function requireOtherOwner(members: readonly Member[], personId: string, path: Issue["path"]): void {
  if (members.some((one) => one.role === "owner" && one.personId !== personId)) return;
  throw refusal(path, "An account needs an owner. Make another member an owner first.");
}

function refusal(path: Issue["path"], message: string): Problem {
  return invalid([{ path, code: "conflict", message }]);
}
