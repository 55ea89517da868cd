import type { Features, SessionInfo } from "@promptd/contract/manage";
import { findListedAccount } from "../accounts/index.ts";
import { findStanding } from "../credits/index.ts";
import type { Actor, ManageHandlers, RequestContext } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { notFound, orNotFound } from "../platform/problem.ts";
import { listAudit } from "./audit/audit-store.ts";
import type { Mailer } from "./mail/mailer.ts";
import { listMembers, type MemberOfAccount } from "./members-store.ts";
import { deleteSession, findPerson, listAccountsOfPerson, listSessions } from "./people-store.ts";
import { confirmEmailChange, requestEmailChange } from "./sign-in/email-change.ts";
import { readSessionCookie } from "./sign-in/session-cookie.ts";
import type { BrowserOfSession, Sessions } from "./sign-in/sessions.ts";
import { createToken, listTokens, revokeToken } from "./tokens-store.ts";
import { welcome } from "./sign-in-codes.ts";

export interface PeopleRoutesOptions {
  readonly db: Database;
  readonly newId: () => string;
  readonly sessions: Sessions;
  /** Signs session cookies. */
  readonly secret: string;
  readonly publicUrl: () => string;
  /** Null: there is no mail server. */
  readonly mailer: Mailer | null;
  readonly features: () => Features;
}

export function peopleManageRoutes(options: PeopleRoutesOptions) {
  const { db, newId, sessions } = options;
  return {
    getFeatures: async () => ({ data: options.features() }),
    getAccount: async ({ params: { accountId } }) => {
      const [account, credits, members] = await Promise.all([
        findListedAccount(db, accountId),
        findStanding(db, accountId),
        listMembers(db, accountId),
      ]);
      if (account === null) throw notFound("account", accountId);
      return { data: { ...account, credits, members } };
    },
    getSession: async (_input, context) => ({ data: await describeSession(context, options) }),
    welcome: async ({ body }, context) => {
      const { data, cookies } = await welcome(body, { db, sessions, browser: browserOf(context) });
      return { data, headers: cookies.length === 0 ? {} : { "set-cookie": cookies } };
    },
    listSessions: async (_input, context) => {
      const token = readSessionCookie([context.header("cookie") ?? ""], options.publicUrl(), options.secret);
      return { data: { rows: await listSessions(db, actorOf(context).personId, token) } };
    },
    endSession: async ({ params: { sessionId } }, context) => {
      const isEnded = await deleteSession(db, actorOf(context).personId, sessionId);
      if (!isEnded) throw notFound("session", sessionId);
      return { data: { sessionId } };
    },
    requestEmailChange: async ({ body }, context) => ({
      data: await requestEmailChange(actorOf(context).personId, body, options),
    }),
    confirmEmailChange: async ({ body: { code } }) => ({ data: await confirmEmailChange(code, options) }),
    listTokens: async ({ query }, context) => ({ data: await listTokens(db, ownerOf(context), query) }),
    createToken: async ({ body }, context) => ({
      data: await createToken(db, newId, { ...ownerOf(context), ...body }),
    }),
    revokeToken: async ({ params: { tokenId } }, context) => {
      return { data: orNotFound(await revokeToken(db, ownerOf(context), tokenId), "management token", tokenId) };
    },
    listAudit: async ({ query }) => ({ data: await listAudit(db, query) }),
  } satisfies Partial<ManageHandlers>;
}

/** Who acts. @throws Error where the endpoint takes no session and no token, which is a bug of its entry. */
export function actorOf({ caller }: RequestContext): Actor {
  if (caller.actor === undefined) throw new Error("The endpoint was admitted without a person.");
  return caller.actor;
}

/** Where a session that the request begins is. */
export function browserOf(context: RequestContext): BrowserOfSession {
  return { address: context.address, userAgent: context.header("user-agent") };
}

/** The person who acts, and the account they act in. */
export function ownerOf(context: RequestContext): MemberOfAccount {
  return { personId: actorOf(context).personId, accountId: context.caller.accountId };
}

async function describeSession(context: RequestContext, { db, features }: PeopleRoutesOptions): Promise<SessionInfo> {
  const { credential, personId, scopes } = actorOf(context);
  const { accountId } = context.caller;
  const [person, accounts] = await Promise.all([findPerson(db, personId), listAccountsOfPerson(db, personId)]);
  if (person === null) throw new Error("The person of an admitted session does not exist.");
  // A token is for one account and says nothing of the others.
  const shown = credential === "token" ? accounts.filter((account) => account.accountId === accountId) : accounts;
  return { credential, person, accountId, accounts: shown, scopes, features: features() };
}
