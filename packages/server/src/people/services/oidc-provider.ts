/** The operator's OpenID Connect provider, as the sign-in library needs it. */
import { z } from "zod";
import type { ConfirmedProfile } from "./linking.ts";

export interface SignInService {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** An OpenID Connect provider that the operator has chosen. */
export interface OidcProvider extends SignInService {
  /** The address of its discovery document. */
  readonly discoveryUrl: string;
  /** True: an address counts as confirmed unless the provider says that it is not. */
  readonly trustsEmail: boolean;
}

export function oidcConfig({ trustsEmail, ...client }: OidcProvider, confirmed: ConfirmedProfile) {
  const findTokenEndpoint = tokenEndpointFinder(client.discoveryUrl);
  return {
    ...client,
    ...confirmed,
    providerId: "oidc",
    scopes: ["openid", "email", "profile"],
    requireIdTokenVerification: true,
    mapProfileToUser: async (claims: Readonly<Record<string, unknown>>) =>
      trustsEmail && claims["email_verified"] === undefined ? { emailVerified: true } : confirmed.mapProfileToUser(),
    getToken: (code: CodeToRedeem) => redeemCode(client, findTokenEndpoint, code),
  };
}

interface CodeToRedeem {
  readonly code: string;
  readonly redirectURI: string;
  readonly codeVerifier?: string | undefined;
}

interface Tokens {
  readonly idToken?: string;
  readonly accessToken?: string;
}

/** Both requests of a sign-in together. */
const REDEEM_MS_MAX = 10_000;
const discoverySchema = z.object({ token_endpoint: z.url() });

type FindTokenEndpoint = (signal: AbortSignal) => Promise<string>;

/** Reads the address once. The library reads the same document, but hands out no address. */
function tokenEndpointFinder(discoveryUrl: string): FindTokenEndpoint {
  let found: string | null = null;
  return async (signal) =>
    (found ??= discoverySchema.parse(await (await fetch(discoveryUrl, { signal })).json()).token_endpoint);
}

const tokensSchema = z.object({ id_token: z.string().optional(), access_token: z.string().optional() });

/**
 * Redeems a code at the provider's token endpoint (OpenID Connect Core, section 3.1.3). The library sends the client's
 * secret in the body, which a provider need not accept. Every provider must accept HTTP Basic (RFC 6749, section
 * 2.3.1), but some let a client use only the method it is registered for, whatever their discovery document lists. So
 * the secret is sent in the body if Basic is refused; a provider refuses a client before it uses the code up.
 */
async function redeemCode(
  { clientId, clientSecret }: SignInService,
  findTokenEndpoint: FindTokenEndpoint,
  given: CodeToRedeem,
): Promise<Tokens> {
  const signal = AbortSignal.timeout(REDEEM_MS_MAX);
  const tokenEndpoint = await findTokenEndpoint(signal);
  const send = (secret: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) =>
    fetch(tokenEndpoint, {
      method: "POST",
      headers: { accept: "application/json", ...headers },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code: given.code,
        redirect_uri: given.redirectURI,
        ...(given.codeVerifier === undefined ? {} : { code_verifier: given.codeVerifier }),
        ...secret,
      }),
      redirect: "error",
      signal,
    });
  const pair = [clientId, clientSecret].map(formEncode).join(":");
  let answer = await send({}, { authorization: `Basic ${Buffer.from(pair).toString("base64")}` });
  if (await isClientRefused(answer)) answer = await send({ client_id: clientId, client_secret: clientSecret }, {});
  if (!answer.ok) throw new Error(`The token endpoint responded with status ${answer.status}: ${await answer.text()}`);
  const { id_token: idToken, access_token: accessToken } = tokensSchema.parse(await answer.json());
  return { ...(idToken === undefined ? {} : { idToken }), ...(accessToken === undefined ? {} : { accessToken }) };
}

async function isClientRefused(answer: Response): Promise<boolean> {
  if (answer.status === 401) return true;
  return answer.status === 400 && (await answer.clone().text()).includes("invalid_client");
}

/** RFC 6749, section 2.3.1: both parts are form-encoded before they are joined. */
const formEncode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
