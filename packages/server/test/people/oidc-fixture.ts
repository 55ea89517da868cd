/** A local OpenID Connect provider: discovery, keys, codes with PKCE, and signed ID tokens. */
import { constants, createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** The person signed in at the provider. */
export interface OidcPerson {
  readonly sub: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
}

export interface TestOidc {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The person that the provider reports as signed in from now on. */
  person: OidcPerson;
  /** Changes the claims of the next ID tokens: a provider, or an attacker in between, that lies. */
  forge: ((claims: Record<string, unknown>) => Record<string, unknown>) | null;
  /** The only way in which the token endpoint accepts the client's secret; null: either. */
  secretIn: "header" | "body" | null;
  /** True: discovery responds with 503. */
  isDown: boolean;
  /** How often the discovery document was requested. */
  discoveries: number;
  /** The first part of the path of every endpoint; endpoints at an earlier path no longer exist. */
  path: string;
  /** Signs the next ID tokens with a new key, and publishes only that one. */
  rotateKey(algorithm: OidcAlgorithm): void;
  /** An ID token of the person for our client, as it may be found in a log or at another program. */
  issueIdToken(nonce: string): string;
  close(): Promise<void>;
}

export type OidcAlgorithm = "RS256" | "PS256" | "ES256" | "EdDSA";

interface SigningKey {
  readonly algorithm: OidcAlgorithm;
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

interface Grant {
  readonly nonce: string | null;
  readonly challenge: string | null;
  readonly redirectUri: string;
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly location?: string;
}

export async function startOidc(person: OidcPerson): Promise<TestOidc> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  let key = createKey("RS256");
  const provider: TestOidc = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: "promptd",
    clientSecret: "secret of the test's client",
    person,
    forge: null,
    secretIn: null,
    isDown: false,
    discoveries: 0,
    path: "",
    rotateKey: (algorithm) => {
      key = createKey(algorithm);
    },
    issueIdToken: (nonce) => signed(claimsOf({ nonce }, provider), key),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const answer = answersOf(provider, () => key);
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, body, location } = await answer(request);
    response.writeHead(status, { "content-type": "application/json", ...(location === undefined ? {} : { location }) });
    response.end(JSON.stringify(body ?? {}));
  };
  server.on("request", (request, response) => void serve(request, response));
  return provider;
}

function answersOf(provider: TestOidc, signingKey: () => SigningKey): (request: IncomingMessage) => Promise<Answer> {
  const grants = new Map<string, Grant>();
  const authorize = (params: URLSearchParams): Answer => {
    const code = randomUUID();
    const redirectUri = params.get("redirect_uri") ?? "";
    grants.set(code, { nonce: params.get("nonce"), challenge: params.get("code_challenge"), redirectUri });
    const location = new URL(redirectUri);
    location.search = new URLSearchParams({ code, state: params.get("state") ?? "" }).toString();
    return { status: 302, location: location.href };
  };
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", provider.issuer);
    const key = signingKey();
    switch (pathname) {
      case "/.well-known/openid-configuration":
        provider.discoveries += 1;
        return provider.isDown ? { status: 503 } : { status: 200, body: discovery(provider, key) };
      case `${provider.path}/jwks`: {
        const jwk = { ...key.publicKey.export({ format: "jwk" }), kid: key.kid, alg: key.algorithm, use: "sig" };
        return { status: 200, body: { keys: [jwk] } };
      }
      case `${provider.path}/authorize`:
        return authorize(searchParams);
      case `${provider.path}/token`: {
        const form = new URLSearchParams(await text(request));
        if (!isClient(provider, form, request.headers.authorization))
          return { status: 401, body: { error: "invalid_client" } };
        const grant = takeGrant(grants, form);
        if (grant === null) return { status: 400, body: { error: "invalid_grant" } };
        const idToken = signed(claimsOf(grant, provider), key);
        const tokens = { access_token: randomUUID(), token_type: "Bearer", expires_in: 300, id_token: idToken };
        return { status: 200, body: tokens };
      }
      default:
        return { status: 404 };
    }
  };
}

/** True: the request has the client's secret where the provider accepts it, and nowhere else (RFC 6749, section 2.3). */
function isClient(
  { clientId, clientSecret, secretIn }: TestOidc,
  form: URLSearchParams,
  authorization: string | undefined,
): boolean {
  if (authorization === undefined) return secretIn !== "header" && form.get("client_secret") === clientSecret;
  const [id, secret] = Buffer.from(authorization.replace(/^Basic /, ""), "base64")
    .toString()
    .split(":");
  const decode = (part = "") => new URLSearchParams(`part=${part}`).get("part");
  return (
    secretIn !== "body" && !form.has("client_secret") && decode(id) === clientId && decode(secret) === clientSecret
  );
}

/** A code works once, with its verifier. */
function takeGrant(grants: Map<string, Grant>, form: URLSearchParams): Grant | null {
  const code = form.get("code") ?? "";
  const grant = grants.get(code);
  grants.delete(code);
  const challenge = createHash("sha256")
    .update(form.get("code_verifier") ?? "")
    .digest("base64url");
  const isGood = challenge === grant?.challenge && form.get("redirect_uri") === grant.redirectUri;
  return grant !== undefined && isGood ? grant : null;
}

function claimsOf(
  { nonce }: Pick<Grant, "nonce">,
  { issuer, clientId, person, forge }: TestOidc,
): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: issuer, aud: clientId, iat: now, exp: now + 300, nonce, ...person };
  return forge === null ? claims : forge(claims);
}

function createKey(algorithm: OidcAlgorithm): SigningKey {
  const pair =
    algorithm === "ES256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : algorithm === "EdDSA"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { algorithm, kid: randomUUID(), ...pair };
}

function signed(claims: Record<string, unknown>, { algorithm, kid, privateKey: key }: SigningKey): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${part({ alg: algorithm, kid, typ: "JWT" })}.${part(claims)}`;
  const how = {
    RS256: { key },
    PS256: { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    ES256: { key, dsaEncoding: "ieee-p1363" },
    EdDSA: { key },
  } as const;
  const signature = sign(algorithm === "EdDSA" ? null : "sha256", Buffer.from(content), how[algorithm]);
  return `${content}.${signature.toString("base64url")}`;
}

function discovery({ issuer, path }: TestOidc, { algorithm }: SigningKey) {
  return {
    issuer,
    authorization_endpoint: `${issuer}${path}/authorize`,
    token_endpoint: `${issuer}${path}/token`,
    jwks_uri: `${issuer}${path}/jwks`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [algorithm],
    code_challenge_methods_supported: ["S256"],
  };
}
