/** A local OpenID Connect provider: discovery, keys, codes with PKCE, and signed ID tokens. */
import { createHash, createSign, generateKeyPairSync, randomUUID, type KeyObject } from "node:crypto";
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
  /** True: discovery responds with 503. */
  isDown: boolean;
  close(): Promise<void>;
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
  const provider: TestOidc = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: "promptd",
    clientSecret: "secret of the test's client",
    person,
    forge: null,
    isDown: false,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const answer = answersOf(provider);
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, body, location } = await answer(request);
    response.writeHead(status, { "content-type": "application/json", ...(location === undefined ? {} : { location }) });
    response.end(JSON.stringify(body ?? {}));
  };
  server.on("request", (request, response) => void serve(request, response));
  return provider;
}

function answersOf(provider: TestOidc): (request: IncomingMessage) => Promise<Answer> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const grants = new Map<string, Grant>();
  const authorize = (asked: URLSearchParams): Answer => {
    const code = randomUUID();
    const redirectUri = asked.get("redirect_uri") ?? "";
    grants.set(code, { nonce: asked.get("nonce"), challenge: asked.get("code_challenge"), redirectUri });
    const location = new URL(redirectUri);
    location.search = new URLSearchParams({ code, state: asked.get("state") ?? "" }).toString();
    return { status: 302, location: location.href };
  };
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", provider.issuer);
    switch (pathname) {
      case "/.well-known/openid-configuration":
        return provider.isDown ? { status: 503 } : { status: 200, body: discovery(provider.issuer) };
      case "/jwks": {
        const key = { ...publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" };
        return { status: 200, body: { keys: [key] } };
      }
      case "/authorize":
        return authorize(searchParams);
      case "/token": {
        const form = new URLSearchParams(await text(request));
        const grant = takeGrant(grants, form, { provider, authorization: request.headers.authorization });
        if (grant === null) return { status: 400, body: { error: "invalid_grant" } };
        const idToken = sign(claimsOf(grant, provider), privateKey);
        const tokens = { access_token: randomUUID(), token_type: "Bearer", expires_in: 300, id_token: idToken };
        return { status: 200, body: tokens };
      }
      default:
        return { status: 404 };
    }
  };
}

/** A code works once, for the client that requested it, with its verifier. */
function takeGrant(
  grants: Map<string, Grant>,
  form: URLSearchParams,
  by: { readonly provider: TestOidc; readonly authorization: string | undefined },
): Grant | null {
  const { clientId, clientSecret } = by.provider;
  const code = form.get("code") ?? "";
  const grant = grants.get(code);
  grants.delete(code);
  const challenge = createHash("sha256")
    .update(form.get("code_verifier") ?? "")
    .digest("base64url");
  const basic = `Basic ${Buffer.from(`${clientId}:${encodeURIComponent(clientSecret)}`).toString("base64")}`;
  const isClient = by.authorization === basic || form.get("client_secret") === clientSecret;
  const isGood = challenge === grant?.challenge && form.get("redirect_uri") === grant.redirectUri;
  return grant !== undefined && isGood && isClient ? grant : null;
}

function claimsOf({ nonce }: Grant, { issuer, clientId, person, forge }: TestOidc): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: issuer, aud: clientId, iat: now, exp: now + 300, nonce, ...person };
  return forge === null ? claims : forge(claims);
}

function sign(claims: Record<string, unknown>, key: KeyObject): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "RS256", kid: "1", typ: "JWT" })}.${part(claims)}`;
  return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key, "base64url")}`;
}

function discovery(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    code_challenge_methods_supported: ["S256"],
  };
}
