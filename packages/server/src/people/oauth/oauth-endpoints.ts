/**
 * The authorization server for programs that use OAuth 2.1, such as agent hosts: authorization code with PKCE, for
 * programs without a secret. The token is an API key of the account with a cap and an expiry, or a management token of
 * the person if the program requested its scopes. Admission, revocation, and lists are therefore the same as for all
 * keys and tokens. Statuses and bodies follow the protocol.
 */
import { printable, type Scope } from "@promptd/contract";
import { createHash } from "node:crypto";
import { createApiKey, revokeKey } from "../../accounts/index.ts";
import { ownEndpoint, type Endpoint, type RequestContext, type TextAnswer } from "../../http/endpoint.ts";
import { networkOf } from "../../http/request/failed-admissions.ts";
import { rawQuery } from "../../http/request/query.ts";
import { isoTime, systemClock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { Problem } from "../../platform/problem.ts";
import { isSameSecret } from "../../platform/secrets.ts";
import type { WriteEntry } from "../audit/audit.ts";
import type { PeopleContext } from "../people-context.ts";
import { findRole } from "../members-store.ts";
import { countAttempt } from "../sign-in/rate-limit-store.ts";
import { createToken, revokeAnyToken } from "../tokens-store.ts";
import { readRegistration, signClient } from "./clients.ts";

const METADATA_PATH = "/.well-known/oauth-authorization-server";
const REGISTER_PATH = "/oauth/register";
const TOKEN_PATH = "/oauth/token";
const AUTHORIZE_PATH = "/oauth/authorize";
/** A page of the console. */
const CONSENT_PAGE = "/authorize";
const BODY_BYTES_MAX = 16 * 1024;

/** What a person agreed to, until the program fetches it. */
export interface Authorization {
  readonly accountId: string;
  /** The person who agreed. */
  readonly personId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  /** Terms of the API key of the account, or of the management token of the person, that the program gets. */
  readonly terms: { readonly monthlyCap: number | null } | { readonly scopes: readonly Scope[] };
  readonly days: number;
}

export function oauthEndpoints(people: PeopleContext): Endpoint[] {
  const { publicUrl, clientsKey, db } = people;
  return [
    ownEndpoint({
      method: "GET",
      path: METADATA_PATH,
      handle: async () => ({ status: 200, text: JSON.stringify(metadataOf(publicUrl())) }),
    }),
    ownEndpoint({
      method: "GET",
      path: AUTHORIZE_PATH,
      handle: async (_input, { request }) => ({
        status: 302,
        text: "",
        // The page reads everything after the number sign unchanged.
        headers: { location: `${publicUrl()}${CONSENT_PAGE}#${rawQuery(request.url ?? "")}` },
      }),
    }),
    ownEndpoint({
      ...WITH_BODY,
      path: REGISTER_PATH,
      handle: limited(db, "register", async (body) => register(readJson(body), clientsKey)),
    }),
    ownEndpoint({
      ...WITH_BODY,
      path: TOKEN_PATH,
      handle: limited(db, "token", (body, context) => exchange(new URLSearchParams(textOf(body)), context, people)),
    }),
  ];
}

const WITH_BODY = { method: "POST", bodyBytesMax: BODY_BYTES_MAX, takesBytes: true } as const;

/** Per address and minute. Many people may share an address, and each adds a program now and then. */
const REQUESTS_MAX = { register: 20, token: 60 } as const;
const WINDOW_MS = 60_000;

/** The handler of an endpoint without credentials, with a limit per address. */
function limited(
  db: Database,
  what: keyof typeof REQUESTS_MAX,
  handle: (body: unknown, context: RequestContext) => Promise<TextAnswer>,
): Endpoint["handle"] {
  return async ({ body }, context) => {
    const { address } = context;
    const { count, msLeft } = await countAttempt(db, `oauth-${what}:${networkOf(address)}`, WINDOW_MS);
    if (count <= REQUESTS_MAX[what]) return handle(body, context);
    const seconds = Math.max(1, Math.ceil(msLeft / 1_000));
    const description = `This address may send at most ${REQUESTS_MAX[what]} requests per minute. Try again in ${seconds} s.`;
    const text = JSON.stringify({ error: "too_many_requests", error_description: description });
    return { status: 429, text, headers: { "retry-after": String(seconds) } };
  };
}

function metadataOf(publicUrl: string) {
  return {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}${AUTHORIZE_PATH}`,
    token_endpoint: `${publicUrl}${TOKEN_PATH}`,
    registration_endpoint: `${publicUrl}${REGISTER_PATH}`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
  };
}

function textOf(body: unknown): string {
  return body instanceof Buffer ? body.toString() : "";
}

function readJson(body: unknown): unknown {
  try {
    return JSON.parse(textOf(body));
  } catch {
    return null; // never a valid registration
  }
}

function register(body: unknown, key: Buffer): TextAnswer {
  const client = readRegistration(body);
  if (typeof client === "string") return refusal("invalid_redirect_uri", client);
  const registered = {
    client_id: signClient(client, key),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  return { status: 201, text: JSON.stringify(registered) };
}

function refusal(error: string, description: string): TextAnswer {
  return { status: 400, text: JSON.stringify({ error, error_description: description }) };
}

const GRANT_REFUSED =
  "The code is not valid. A code works once, for a short time, and only for the program that requested it.";
const DAY_SECONDS = 86_400;
/** Any other text is rejected without a database query. */
const CODE_FORM = /^[A-Za-z0-9_-]{43}$/;

/** The key under which a code's authorization is stored until the program fetches it. */
export function identifierOf(code: string): string {
  return `oauth-code:${code}`;
}

const URI_CHARACTERS_SHOWN = 100;

/** Longer than any code is valid. */
const USED_SECONDS = 900;

/** The key under which is stored what a code gave. Only the program that began has the verifier. */
function usedIdentifierOf(form: URLSearchParams): string {
  return `used-oauth-code:${form.get("code") ?? ""}:${form.get("code_verifier") ?? ""}`;
}

async function exchange(
  form: URLSearchParams,
  { address, requestId }: RequestContext,
  people: PeopleContext,
): Promise<TextAnswer> {
  const repeated = [...form.keys()].find((name, i, names) => names.indexOf(name) !== i);
  if (repeated !== undefined) {
    return refusal("invalid_request", `${printable(repeated, 40)} is given more than once.`); // RFC 6749, section 3.2
  }
  if (form.get("grant_type") !== "authorization_code") {
    return refusal("unsupported_grant_type", "Only authorization_code is supported.");
  }
  const resource = form.get("resource");
  if (resource !== null && URL.parse(resource)?.origin !== new URL(people.publicUrl()).origin) {
    const given = printable(resource, URI_CHARACTERS_SHOWN);
    return refusal("invalid_target", `${given} is not an address of this server, which gives access only to itself.`);
  }
  const code = form.get("code") ?? "";
  if (!CODE_FORM.test(code)) return refusal("invalid_grant", GRANT_REFUSED);
  const write: WriteEntry = (entry) => people.writeEntry({ ...entry, address, requestId });
  // Taken in any case: a code that was sent with a wrong verifier is no longer valid for anybody.
  const authorization = await takeAuthorization(code, people);
  if (authorization === null) await revokeGiven(form, write, people);
  if (authorization === null || !isOfCaller(authorization, form)) return refusal("invalid_grant", GRANT_REFUSED);
  if (!(await mayStillGive(authorization, people))) return refusal("invalid_grant", GRANT_REFUSED);
  try {
    const { secret, what, id } = await createSecret(authorization, people);
    const { personId, accountId, terms, days } = authorization;
    const given: Given = { what, id, personId, accountId };
    await write({ ...entryOf(given), action: `create${what}OfProgram` });
    await people.sessions.storeOnce(usedIdentifierOf(form), JSON.stringify(given), USED_SECONDS);
    const scope = "scopes" in terms ? { scope: terms.scopes.join(" ") } : {};
    const token = { access_token: secret, token_type: "Bearer", expires_in: days * DAY_SECONDS, ...scope };
    return { status: 200, text: JSON.stringify(token), headers: { pragma: "no-cache" } };
  } catch (error) {
    if (error instanceof Problem) return refusal("invalid_grant", error.message);
    throw error;
  }
}

/** What a code gave. */
interface Given extends Pick<Authorization, "personId" | "accountId"> {
  readonly what: "Key" | "Token";
  readonly id: string;
}

function entryOf({ personId, accountId, id: subject }: Given) {
  return { actor: "none", personId, accountId, subject, outcome: "SUCCESS" } as const;
}

/** If a program's code comes again, somebody else may have what it gave (RFC 6749, section 4.1.2). */
async function revokeGiven(form: URLSearchParams, write: WriteEntry, { db, sessions }: PeopleContext): Promise<void> {
  const stored = await sessions.takeOnce(usedIdentifierOf(form));
  if (stored === null) return;
  const given = JSON.parse(stored) as Given;
  await (given.what === "Key" ? revokeKey(db, given.id) : revokeAnyToken(db, { tokenId: given.id }));
  await write({ ...entryOf(given), action: `revoke${given.what}OfProgram` });
}

function isOfCaller(authorization: Authorization, form: URLSearchParams): boolean {
  const { clientId, redirectUri, codeChallenge } = authorization;
  const given = createHash("sha256")
    .update(form.get("code_verifier") ?? "")
    .digest();
  const isVerified = isSameSecret(given, Buffer.from(codeChallenge, "base64url"));
  // OAuth 2.1 programs omit the address: the verifier binds the code to the program that started.
  const isSameAddress = [null, redirectUri].includes(form.get("redirect_uri"));
  return isVerified && isSameAddress && form.get("client_id") === clientId;
}

/** The authorization of a code, returned only once. Null: there is none, or it has expired. */
async function takeAuthorization(code: string, { sessions }: PeopleContext): Promise<Authorization | null> {
  const stored = await sessions.takeOnce(identifierOf(code));
  return stored === null ? null : (JSON.parse(stored) as Authorization);
}

/** False: the person has since lost the access that they agreed to share. */
async function mayStillGive({ personId, accountId, terms }: Authorization, { db }: PeopleContext): Promise<boolean> {
  const role = await findRole(db, personId, accountId);
  return role === "owner" || (role === "member" && "scopes" in terms);
}

/** Creates an API key or a management token. @throws Problem if the account or the person has too many. */
async function createSecret(
  { accountId, personId, clientName: name, terms, days }: Authorization,
  { db, newId }: PeopleContext,
): Promise<Pick<Given, "what" | "id"> & { readonly secret: string }> {
  if ("scopes" in terms) {
    const created = await createToken(db, newId, { ...terms, accountId, personId, name, expiresInDays: days });
    return { secret: created.token, what: "Token", id: created.tokenId };
  }
  const expiresAt = isoTime(systemClock.nowMs() + days * DAY_SECONDS * 1_000);
  const created = await createApiKey(db, newId, { accountId, name, monthlyCap: terms.monthlyCap, expiresAt });
  return { secret: created.apiKey, what: "Key", id: created.keyId };
}
