/**
 * Admission to the management API: checks the session cookie or management token, the person's account, and the rate
 * limit in one statement. Nothing is cached: ended sessions and revoked tokens are rejected from their commit on.
 */
import type { Unauthorized } from "@promptd/contract";
import { ACCOUNT_HEADER } from "@promptd/contract/manage";
import { hasKeyForm, hashApiKey, hasTokenForm, overLimit, planRequired } from "../accounts/index.ts";
import type { Config } from "../platform/config/config.ts";
import type { Actor, Admission, AdmissionRequest, Admit } from "../http/endpoint.ts";
import { isUuid } from "../platform/ids.ts";
import { badRequest, notFound, Problem } from "../platform/problem.ts";
import type { PeopleContext } from "./people-context.ts";
import { admitSession, admitToken, FROZEN, type AdmittedRow } from "./people-store.ts";
import { readSessionCookie } from "./sign-in/session-cookie.ts";

const AUTHORIZATION_LENGTH_MAX = 256;
const TEXTS = {
  nothing:
    'You are not signed in. Sign in, or send a management token if this endpoint accepts one: "Authorization: Bearer pdm_…".',
  ended: "The session has ended. Sign in again.",
  apiKey:
    'You sent an API key ("pd_…"), which is for /v1. This endpoint accepts a session or a management token ("pdm_…").',
  tokenElsewhere:
    "You sent a management token, but this endpoint accepts only sessions. Sign in to the console and do it there.",
  invalid: "The management token is not valid. Check it, or create a new one on your tokens page.",
  expired: "The management token has expired. Create a new one on your tokens page.",
  left: "The person this token belongs to has left the account that it was created for.",
  several: 'The request has several Authorization headers. Send only one: "Authorization: Bearer pdm_…".',
  frozen: FROZEN,
};

export function createPeopleAdmission(context: PeopleContext): { readonly session: Admit; readonly token: Admit } {
  return {
    session: (request) => admitBySession(request, context),
    token: (request) => admitByToken(request, context),
  };
}

async function admitByToken(request: AdmissionRequest, { db, config }: PeopleContext): Promise<Admission> {
  const { authorization } = request;
  if (authorization.length === 0) return { ...unauthorized(TEXTS.nothing), isAbsent: true };
  if (authorization.length > 1) return unauthorized(TEXTS.several);
  const token = bearerOf(authorization);
  if (token !== null && hasKeyForm(token)) return unauthorized(TEXTS.apiKey, wrongCredential("token", "session"));
  if (token === null || !hasTokenForm(token)) return unauthorized(TEXTS.invalid);
  const row = await admitToken(db, hashApiKey(token), config.PROMPTD_MANAGE_RATE_LIMIT_PER_SECOND);
  if (row === null) return unauthorized(TEXTS.invalid);
  if (row.revoked_at !== null) {
    return unauthorized(`This management token was revoked on ${row.revoked_at.toISOString().slice(0, 10)}.`);
  }
  if (row.is_expired) return unauthorized(TEXTS.expired);
  const requested = (request.headers(ACCOUNT_HEADER.toLowerCase())[0] ?? request.requestedAccount)?.toLowerCase();
  if (row.account_id === null) return unauthorized(TEXTS.left);
  if (requested !== undefined && requested !== row.account_id) return refused(notFound("account", requested));
  return judge(row, "token", null, config);
}

async function admitBySession(
  request: AdmissionRequest,
  { db, config, publicUrl, secret }: PeopleContext,
): Promise<Admission> {
  const { authorization, headers } = request;
  if (authorization.length > 0) return { ...refuseAuthorization(authorization), isAbsent: true };
  const token = readSessionCookie(headers("cookie"), publicUrl(), secret);
  if (token === null) return { ...unauthorized(TEXTS.nothing), isAbsent: true };
  const [header, ...others] = headers(ACCOUNT_HEADER.toLowerCase());
  // A write needs the header itself: any page can make a browser follow a link.
  const requested = header ?? (SAFE_METHODS.has(request.method) ? (request.requestedAccount ?? undefined) : undefined);
  if (others.length > 0 || (requested !== undefined && !isUuid(requested)))
    return refused(badRequest(`${ACCOUNT_HEADER} must be the id of one account.`));
  const accountId = requested?.toLowerCase() ?? null;
  const perSecond = config.PROMPTD_MANAGE_RATE_LIMIT_PER_SECOND;
  const row = await admitSession(db, token, { accountId, perSecond });
  if (row === null) return unauthorized(TEXTS.ended);
  const forged = forgeryProblem(request, requested !== undefined, publicUrl());
  if (forged !== null) return refused(forged);
  return judge(row, "session", accountId, config);
}

/**
 * For endpoints that accept a session, alone or among others: the text depends on what was sent instead of a cookie.
 */
function refuseAuthorization(authorization: readonly string[]): Refusal {
  const shown = bearerOf(authorization);
  const isKey = shown !== null && hasKeyForm(shown);
  return unauthorized(isKey ? TEXTS.apiKey : TEXTS.tokenElsewhere, wrongCredential("session"));
}

const SAFE_METHODS = new Set(["GET", "HEAD"]);

/**
 * A browser sends the cookie whichever site made the page. What another site's page cannot do is send a custom header,
 * or hide its origin.
 */
function forgeryProblem({ method, headers }: AdmissionRequest, hasAccount: boolean, publicUrl: string): Problem | null {
  if (SAFE_METHODS.has(method)) return null;
  if (!hasAccount) {
    return badRequest(`A write with a session must send the header ${ACCOUNT_HEADER} with the id of the account.`);
  }
  const [origin] = headers("origin");
  const [host] = headers("host");
  return isForeignOrigin({ origin, host }, publicUrl)
    ? badRequest("The request comes from a page on another origin. Such a page may not make changes with a session.")
    : null;
}

/** Whether a page of another origin sent this request; no page can hide its origin. */
export function isForeignOrigin(
  { origin, host }: { readonly origin: string | undefined; readonly host: string | undefined },
  publicUrl: string,
): boolean {
  return origin !== undefined && origin !== new URL(publicUrl).origin && URL.parse(origin)?.host !== host;
}

function judge(
  row: AdmittedRow,
  credential: Actor["credential"],
  requestedAccount: string | null,
  { PROMPTD_MANAGE_RATE_LIMIT_PER_SECOND: limitPerSecond, PROMPTD_PLANS: plans }: Config,
): Admission {
  const rate = { scope: credential === "token" ? "token" : "person", perSecond: limitPerSecond } as const;
  const remaining = Math.max(0, limitPerSecond - row.used);
  const whose = row.account_id === null ? {} : { caller: { accountId: row.account_id, keyId: null } };
  const refusal = (problem: Problem): Admission => ({ kind: "refused", problem, remaining, rate, ...whose });
  if (row.is_frozen) return unauthorized(TEXTS.frozen);
  if (!row.admitted) return refusal(overLimit(row.wait_us, { limitPerSecond }));
  if (row.account_id === null || row.role === null) {
    return refusal(requestedAccount === null ? noAccount() : notFound("account", requestedAccount));
  }
  const actor: Actor = {
    credential,
    personId: row.person_id,
    isOperator: row.is_operator,
    role: row.role,
    tokenId: row.token_id,
    scopes: row.scopes,
  };
  const planProblem = plans && !row.pro ? planRequired(row.pro_until) : null;
  const caller = { accountId: row.account_id, keyId: null, actor };
  return { kind: "admitted", caller, remaining, rate, planProblem };
}

function bearerOf(authorization: readonly string[]): string | null {
  const [header = ""] = authorization;
  return header.length > AUTHORIZATION_LENGTH_MAX ? null : (/^bearer +(\S+) *$/i.exec(header)?.[1] ?? null);
}

type Refusal = Extract<Admission, { kind: "refused" }>;

function unauthorized(text: string, data: Unauthorized = { reason: "SIGN_IN_REQUIRED" }): Refusal {
  return refused(new Problem("UNAUTHORIZED_ERROR", text, { data }));
}

/** The request was not counted. */
function refused(problem: Problem): Refusal {
  return { kind: "refused", problem, remaining: null };
}

function wrongCredential(...expected: readonly ("session" | "token")[]): Unauthorized {
  return { reason: "WRONG_CREDENTIAL", expected };
}

function noAccount(): Problem {
  return new Problem("NOT_FOUND_ERROR", "You are not a member of any account. Ask an account owner to invite you.");
}
