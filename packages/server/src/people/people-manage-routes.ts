import type { SessionInfo } from "@promptd/contract/manage";
import { findListedAccount } from "../accounts/index.ts";
import { findStanding } from "../credits/index.ts";
import type { Actor, ManageHandlers, RequestContext } from "../http/endpoint.ts";
import { badRequest, invalid, notFound, orNotFound, type Problem } from "../platform/problem.ts";
import { listAudit } from "./audit/audit-store.ts";
import { listAccountsOfPerson, listMembers, type MemberOfAccount } from "./members-store.ts";
import { isForeignOrigin } from "./people-admission.ts";
import type { PeopleContext } from "./people-context.ts";
import { deleteSession, findPerson, findSignIn, listSessions } from "./people-store.ts";
import { refuseUnconfirmed } from "./services/linking.ts";
import { confirmEmailChange, requestEmailChange } from "./sign-in/email-change.ts";
import { deletePasskey, listPasskeys } from "./sign-in/passkeys-store.ts";
import { countPasswordTry } from "./sign-in/passwords.ts";
import { relyingPartyOf, type RelyingParty } from "./sign-in/relying-party.ts";
import { readSessionCookie } from "./sign-in/session-cookie.ts";
import type { BrowserOfSession } from "./sign-in/sessions.ts";
import { createToken, listTokens, revokeToken } from "./tokens-store.ts";
import { welcome } from "./links/sign-in-codes.ts";

export function peopleManageRoutes(options: PeopleContext) {
  const { db, newId } = options;
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
      const { data, cookies } = await welcome(body, browserOf(context, options), options);
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
    requestEmailChange: async ({ body: { email, password } }, context) => {
      const confirm = () => requireConfirmed(context, password, options);
      return { data: await requestEmailChange(actorOf(context).personId, { email, confirm }, options) };
    },
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

/**
 * The acting person. @throws Error if the endpoint accepts neither a session nor a token, which is a bug in its entry.
 */
export function actorOf({ caller }: RequestContext): Actor {
  if (caller.actor === undefined) throw new Error("The endpoint was admitted without a person.");
  return caller.actor;
}

/**
 * The browser in which the request begins a session.
 * @throws Problem if a page of another origin tries to sign its visitor in, as a person of its choice.
 */
export function browserOf(context: RequestContext, { publicUrl }: Pick<PeopleContext, "publicUrl">): BrowserOfSession {
  const [origin, host] = [context.header("origin") ?? undefined, context.header("host") ?? undefined];
  if (isForeignOrigin({ origin, host }, publicUrl())) {
    throw badRequest("The request comes from a page on another origin. Such a page may not sign anyone in here.");
  }
  return { address: context.address, userAgent: context.header("user-agent") };
}

/** The acting person, and the account they act in. */
export function ownerOf(context: RequestContext): MemberOfAccount {
  return { personId: actorOf(context).personId, accountId: context.caller.accountId };
}

async function describeSession(context: RequestContext, { db, features }: PeopleContext): Promise<SessionInfo> {
  const { credential, personId, scopes } = actorOf(context);
  const { accountId } = context.caller;
  const [person, accounts] = await Promise.all([findPerson(db, personId), listAccountsOfPerson(db, personId)]);
  if (person === null) throw new Error("The person of an admitted session does not exist.");
  // A token is for one account and reveals nothing about the others.
  const shown = credential === "token" ? accounts.filter((account) => account.accountId === accountId) : accounts;
  return { credential, person, accountId, accounts: shown, scopes, features: features() };
}

/**
 * Requires the signed-in person's password, or, without one, a recent sign-in. @throws Problem VALIDATION_ERROR.
 * @param password from the member of the same name in the body.
 */
async function requireConfirmed(
  context: RequestContext,
  password: string | undefined,
  { db, sessions, publicUrl, secret }: PeopleContext,
): Promise<void> {
  const token = readSessionCookie([context.header("cookie") ?? ""], publicUrl(), secret);
  const signIn = token === null ? null : await findSignIn(db, token);
  if (signIn === null) throw new Error("The session of an admitted request does not exist.");
  const { personId, email, hasPassword, signedInAt } = signIn;
  const tooMany = hasPassword ? await countPasswordTry(db, email) : null;
  if (tooMany !== null) throw invalid([{ path: ["body", "password"], code: "too_many", message: tooMany }]);
  const isPassword = hasPassword ? () => sessions.isPasswordOf(personId, password ?? "") : null;
  const refusal = await refuseUnconfirmed(new Date(signedInAt), isPassword);
  if (refusal !== null) throw invalid([{ path: ["body", "password"], code: "conflict", message: refusal.message }]);
}

/** Loaded when a passkey is first used, so that startup does not wait for it. */
const loadPasskeys = () => import("./sign-in/passkeys.ts");

export function passkeysManageRoutes(options: PeopleContext) {
  const { db, publicUrl, sessions } = options;
  const party = () => requireParty(publicUrl());
  return {
    listPasskeys: async (_input, context) => ({ data: { rows: await listPasskeys(db, actorOf(context).personId) } }),
    beginPasskey: async ({ body: { password } }, context) => {
      await requireConfirmed(context, password, options);
      const person = await findPerson(db, actorOf(context).personId);
      if (person === null) throw new Error("The person of an admitted session does not exist.");
      return { data: { options: await (await loadPasskeys()).creationOptions(person, party(), options) } };
    },
    addPasskey: async ({ body }, context) => {
      const { personId } = actorOf(context);
      const passkey = await (await loadPasskeys()).addPasskey({ personId, ...body }, party(), options);
      if (passkey === null) {
        throw passkeyRefusal(
          "The passkey was not added. The response does not match a request from the last five minutes, the passkey is already registered, or you already have 20. Try again.",
        );
      }
      return { data: passkey };
    },
    removePasskey: async ({ params: { passkeyId } }, context) => {
      return { data: orNotFound(await deletePasskey(db, actorOf(context).personId, passkeyId), "passkey", passkeyId) };
    },
    beginPasskeySignIn: async () => ({
      data: { options: await (await loadPasskeys()).requestOptions(party(), options) },
    }),
    signInWithPasskey: async ({ body: { response } }, context) => {
      const personId = await (await loadPasskeys()).findSignedIn(response, party(), options);
      if (personId === null) {
        throw passkeyRefusal(
          "This passkey cannot sign you in here. Try again, or sign in another way and check your passkeys.",
        );
      }
      const cookies = await sessions.signIn(personId, browserOf(context, options));
      return { data: { personId }, headers: { "set-cookie": cookies } };
    },
  } satisfies Partial<ManageHandlers>;
}

/** All unacceptable responses get the same text, so that nobody learns which passkeys exist. */
function passkeyRefusal(message: string): Problem {
  return invalid([{ path: ["body", "response"], code: "invalid_value", message }]);
}

function requireParty(publicUrl: string): RelyingParty {
  const party = relyingPartyOf(publicUrl);
  if (party !== null) return party;
  const message =
    "Passkeys require HTTPS and a domain name. Ask an operator to set PROMPTD_PUBLIC_URL to such an address.";
  throw invalid([{ path: ["header", "Host"], code: "conflict", message }]);
}
