import type { Features, SessionInfo } from "@promptd/contract/manage";
import { displayOf, findListedAccount, hashApiKey, mintToken } from "../accounts/index.ts";
import { findStanding } from "../credits/index.ts";
import type { Actor, ManageHandlers, RequestContext } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { unknownCursor } from "../platform/database/pages.ts";
import { invalid, notFound, type Problem } from "../platform/problem.ts";
import { listAudit } from "./audit/audit-store.ts";
import type { Mailer } from "./mail/mailer.ts";
import { listMembers } from "./members-store.ts";
import { findPerson, listAccountsOfPerson } from "./people-store.ts";
import { confirmEmailChange, requestEmailChange } from "./sign-in/email-change.ts";
import type { Sessions } from "./sign-in/lazy-sessions.ts";
import { insertToken, listTokens, revokeToken, type TokenOwner } from "./tokens-store.ts";
import { welcome } from "./welcome.ts";

export interface PeopleRoutesOptions {
  readonly db: Database;
  readonly newId: () => string;
  readonly sessions: Sessions;
  readonly publicUrl: () => string;
  /** Null: there is no mail server. */
  readonly mailer: Mailer | null;
  readonly features: () => Features;
}

const TOKENS_PER_PERSON_MAX = 50;

type HandlerName =
  | "getSession"
  | "getFeatures"
  | "requestEmailChange"
  | "confirmEmailChange"
  | "welcome"
  | "listTokens"
  | "createToken"
  | "revokeToken"
  | "listAudit"
  | "getAccount";

export function peopleManageRoutes(options: PeopleRoutesOptions): Pick<ManageHandlers, HandlerName> {
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
      const { data, cookies } = await welcome(body, { db, sessions, userAgent: context.header("user-agent") });
      return { data, headers: cookies.length === 0 ? {} : { "set-cookie": cookies } };
    },
    requestEmailChange: async ({ body }, context) => ({
      data: await requestEmailChange(actorOf(context).personId, body, options),
    }),
    confirmEmailChange: async ({ body: { code } }) => ({ data: await confirmEmailChange(code, options) }),
    listTokens: async ({ query }, context) => {
      const page = await listTokens(db, ownerOf(context), query);
      if (page === null) throw unknownCursor(query, "token");
      return { data: page };
    },
    createToken: async ({ body }, context) => {
      const token = mintToken();
      const row = { tokenId: newId(), hash: hashApiKey(token), display: displayOf(token), ...body };
      const created = await insertToken(db, { ...ownerOf(context), ...row }, TOKENS_PER_PERSON_MAX);
      if (created === null) throw tooManyTokens();
      return { data: { ...created, token } };
    },
    revokeToken: async ({ params: { tokenId } }, context) => {
      const revoked = await revokeToken(db, ownerOf(context), tokenId);
      if (revoked === null) throw notFound("management token", tokenId);
      return { data: revoked };
    },
    listAudit: async ({ query }) => {
      const page = await listAudit(db, query);
      if (page === null) throw unknownCursor(query, "row of the audit log");
      return { data: page };
    },
  };
}

/** Who acts. @throws Error where the endpoint takes no session and no token, which is a bug of its entry. */
export function actorOf({ caller }: RequestContext): Actor {
  if (caller.actor === undefined) throw new Error("The endpoint was admitted without a person.");
  return caller.actor;
}

function ownerOf(context: RequestContext): TokenOwner {
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

function tooManyTokens(): Problem {
  const message = `You have ${TOKENS_PER_PERSON_MAX} management tokens, the most one person may have. Revoke one first.`;
  return invalid([{ path: ["body", "name"], code: "too_many", message }]);
}
