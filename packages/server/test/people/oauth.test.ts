/**
 * A program gets access by OAuth as the official MCP client does it: found, registered, consented to, and given a key.
 */
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
} from "@modelcontextprotocol/client";
import { PromptdError } from "@promptd/client/manage";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { codeOf } from "./page-requests.ts";
import { createTestPerson, tokenClient, type TestPerson } from "./people-fixture.ts";

const REDIRECT = "http://127.0.0.1:33418/callback";

let server: TestServer;
let person: TestPerson;

beforeAll(async () => {
  server = await startTestServer({
    environment: { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "100", PROMPTD_PROXIES: "1" },
  });
  person = await createTestPerson(server);
});
afterAll(() => server.close());
// Every program of this file has the same address.
afterEach(() => server.app.db.query("delete from auth_rate_limits").then(() => undefined));

/** What an agent host stores about a server between starts. */
class TestProvider implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: "Test\u202eHost\n", redirect_uris: [REDIRECT] };
  authorizationUrl: URL | null = null;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = "";
  state = () => "af0ifjsldkj";
  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed): void => void (this.#client = client);
  tokens = () => this.#tokens;
  saveTokens = (tokens: OAuthTokens): void => void (this.#tokens = tokens);
  redirectToAuthorization = (url: URL): void => void (this.authorizationUrl = url);
  saveCodeVerifier = (verifier: string): void => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
}

/** What the console page sends when the person agrees. */
function consentOf(authorizationUrl: URL) {
  const of = (name: string) => authorizationUrl.searchParams.get(name) ?? "";
  return {
    clientId: of("client_id"),
    redirectUri: of("redirect_uri"),
    codeChallenge: of("code_challenge"),
    state: of("state"),
    monthlyCap: 50,
    days: 30,
  };
}

let begun = 0;

async function begin(): Promise<{
  readonly provider: TestProvider;
  readonly transport: StreamableHTTPClientTransport;
}> {
  begun += 1;
  const provider = new TestProvider();
  // Failed admissions are limited per address.
  const requestInit = { headers: { "x-forwarded-for": `198.51.100.${begun}` } };
  const address = new URL(`${server.url}/mcp`);
  const transport = new StreamableHTTPClientTransport(address, { authProvider: provider, requestInit });
  const client = new Client({ name: "test", version: "1" });
  await expect(client.connect(transport)).rejects.toThrow(UnauthorizedError);
  return { provider, transport };
}

async function agree(authorizationUrl: URL): Promise<URL> {
  const { redirectTo } = await person.client.send("authorizeClient", { body: consentOf(authorizationUrl) });
  return new URL(redirectTo);
}

test("a host is led from a 401 to the person, whose consent gives it a key with a cap and an expiry", async () => {
  const { provider, transport } = await begin();
  const authorizationUrl = provider.authorizationUrl;
  if (authorizationUrl === null) throw new Error("The host was not led anywhere.");
  expect(authorizationUrl.origin + authorizationUrl.pathname).toBe(`${server.url}/oauth/authorize`);
  expect((await fetch(authorizationUrl, { redirect: "manual" })).headers.get("location")).toBe(
    `${server.url}/authorize#${authorizationUrl.search.slice(1)}`,
  );
  expect(authorizationUrl.searchParams.get("code_challenge_method")).toBe("S256");
  const manage = person.client;
  const { clientId, redirectUri } = consentOf(authorizationUrl);
  expect(await manage.send("showClient", { query: { clientId, redirectUri } })).toEqual({
    name: "Test Host",
    redirectUri,
  });
  const back = await agree(authorizationUrl);
  expect(back.searchParams.get("state")).toBe("af0ifjsldkj");
  await transport.finishAuth(back.searchParams);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { authProvider: provider }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("run_prompt");
  const { rows } = await manage.send("listKeys");
  expect(rows[0]).toMatchObject({ name: "Test Host", monthlyCap: 50, state: "valid" });
  const days = (Date.parse(rows[0]?.expiresAt ?? "") - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(30);
  await manage.send("revokeKey", { params: { keyId: rows[0]?.keyId ?? "" } });
  await expect(client.listTools()).rejects.toThrow(UnauthorizedError);
  await client.close();
});

describe("a code", () => {
  const exchange = (form: Record<string, string>) =>
    fetch(`${server.url}/oauth/token`, { method: "POST", body: new URLSearchParams(form) });
  const formOf = async (change: Record<string, string> = {}) => {
    const { provider } = await begin();
    if (provider.authorizationUrl === null) throw new Error("The host was not led anywhere.");
    const back = await agree(provider.authorizationUrl);
    return {
      grant_type: "authorization_code",
      code: back.searchParams.get("code") ?? "",
      client_id: consentOf(provider.authorizationUrl).clientId,
      redirect_uri: REDIRECT,
      code_verifier: provider.codeVerifier(),
      ...change,
    };
  };

  test("works once", async () => {
    const form = await formOf();
    const [first, second] = [await exchange(form), await exchange(form)];
    expect([first.status, second.status]).toEqual([200, 400]);
    expect(first.headers.get("cache-control")).toBe("no-store");
    expect(await second.json()).toMatchObject({ error: "invalid_grant" });
  });

  test("that its program sends again revokes the key it gave; without the verifier, it revokes nothing", async () => {
    const form = await formOf();
    expect((await exchange(form)).status).toBe(200);
    const [key] = (await person.client.send("listKeys")).rows;
    const stateOf = async () =>
      (await person.client.send("listKeys")).rows.find(({ keyId }) => keyId === key?.keyId)?.state;
    expect((await exchange({ ...form, code_verifier: "of somebody who has found the code" })).status).toBe(400);
    expect(await stateOf()).toBe("valid");
    expect((await exchange(form)).status).toBe(400);
    expect(await stateOf()).toBe("revoked");
    const { personId, accountId } = person;
    expect(
      await server.app.db.query(
        `select actor, person_id as "personId", account_id as "accountId", outcome from audit_entries
         where action = 'revokeKeyOfProgram' and subject = $1`,
        [key?.keyId],
      ),
    ).toEqual([{ actor: "none", personId, accountId, outcome: "SUCCESS" }]);
  });

  test("that its program sends again revokes the management token it gave", async () => {
    const { provider } = await begin();
    if (provider.authorizationUrl === null) throw new Error("The host was not led anywhere.");
    const { monthlyCap: _cap, ...request } = consentOf(provider.authorizationUrl);
    const body = { ...request, scopes: ["runs:read" as const] };
    const { redirectTo } = await person.client.send("authorizeClientWithToken", { body });
    const form = {
      grant_type: "authorization_code",
      code: new URL(redirectTo).searchParams.get("code") ?? "",
      client_id: request.clientId,
      code_verifier: provider.codeVerifier(),
    };
    const { access_token: token } = (await (await exchange(form)).json()) as { access_token: string };
    const client = tokenClient(server, token);
    expect(await codeOf(client.send("getSession"))).toBe("SUCCESS");
    expect((await exchange(form)).status).toBe(400);
    expect(await codeOf(client.send("getSession"))).toBe("UNAUTHORIZED_ERROR");
  });

  test.each(["https://evil.example/mcp", "not an address", ""])(
    "gives nothing for the resource %j: another server that sends a host here gets no key of ours",
    async (resource) => {
      const form = await formOf();
      const refused = await exchange({ ...form, resource });
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: "invalid_target" }]);
      expect((await exchange({ ...form, resource: `${server.url}/mcp` })).status).toBe(200);
    },
  );

  test("can be exchanged without the address, as OAuth 2.1 programs do", async () => {
    const { redirect_uri: _address, ...form } = await formOf();
    expect((await exchange(form)).status).toBe(200);
  });

  test("is not valid a minute later", async () => {
    const form = await formOf();
    const text = "update auth_verifications set expires_at = expires_at - interval '60 s'";
    await server.app.db.query(text);
    expect((await exchange(form)).status).toBe(400);
  });

  test("is not exchanged with a parameter given twice, and stays valid", async () => {
    const form = await formOf();
    for (const name of [...Object.keys(form), "unknown"]) {
      const twice = new URLSearchParams(form);
      twice.append(name, "one");
      if (name === "unknown") twice.append(name, "other");
      const refused = await fetch(`${server.url}/oauth/token`, { method: "POST", body: twice });
      expect([refused.status, await refused.json()]).toEqual([
        400,
        { error: "invalid_request", error_description: `${name} is given more than once.` },
      ]);
    }
    expect((await exchange(form)).status).toBe(200);
  });

  test("leaves a row in the audit log that names the key it gave, the person who agreed, and the account", async () => {
    expect((await exchange(await formOf())).status).toBe(200);
    const [key] = (await person.client.send("listKeys")).rows;
    const rows = await server.app.db.query(
      `select actor, person_id as "personId", account_id as "accountId", outcome, request_id is not null as "hasRequest"
       from audit_entries where action = 'createKeyOfProgram' and subject = $1`,
      [key?.keyId],
    );
    const { personId, accountId } = person;
    expect(rows).toEqual([{ actor: "none", personId, accountId, outcome: "SUCCESS", hasRequest: true }]);
  });

  test("works only once for two concurrent requests", async () => {
    const form = await formOf();
    const statuses = (await Promise.all([exchange(form), exchange(form), exchange(form)])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
  });

  test.each([
    ["with another verifier", { code_verifier: "another-verifier-of-43-characters-at-the-least" }],
    ["for another program", { client_id: "another" }],
    ["for another address", { redirect_uri: "http://127.0.0.1:1/callback" }],
  ])("%s gives nothing, and is used up", async (_what, change) => {
    const form = await formOf();
    expect((await exchange({ ...form, ...change })).status).toBe(400);
    expect((await exchange(form)).status).toBe(400);
  });

  test.each([
    ["has left the account", "delete from account_members where account_id = $1 and person_id = $2"],
    ["no longer owns it", "update account_members set role = 'member' where account_id = $1 and person_id = $2"],
    ["is frozen", "update auth_users set frozen_at = promptd_now() where id = $2 and $1::uuid is not null"],
  ])("gives nothing once the person who granted it %s", async (_what, change) => {
    const form = await formOf();
    const { db } = server.app;
    await db.query(change, [person.accountId, person.personId]);
    const refused = await exchange(form);
    const again = `insert into account_members (account_id, person_id, role, is_personal) values ($1, $2, 'owner', true)
      on conflict (account_id, person_id) do update set role = 'owner'`;
    await db.query(again, [person.accountId, person.personId]);
    await db.query("update auth_users set frozen_at = null where id = $1", [person.personId]);
    expect(await refused.json()).toMatchObject({ error: "invalid_grant" });
  });

  test("that nobody granted, and another grant type, are refused", async () => {
    for (const code of ["made-up", "A".repeat(43)]) {
      expect(await (await exchange(await formOf({ code }))).json()).toMatchObject({ error: "invalid_grant" });
    }
    expect(await (await exchange({ grant_type: "password" })).json()).toMatchObject({
      error: "unsupported_grant_type",
    });
  });
});

describe("redirects", () => {
  const register = async (redirectUris: unknown) => {
    const answer = await fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "x-forwarded-for": "192.0.2.8" }, // which has its own limit
      body: JSON.stringify({ client_name: "Program", redirect_uris: redirectUris }),
    });
    return { status: answer.status, ...((await answer.json()) as { client_id?: string; error?: string }) };
  };
  const show = (clientId: string, redirectUri: string) =>
    person.client.send("showClient", { query: { clientId, redirectUri } });

  test.each([
    "http://example.org/callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://example.org/#fragment",
    "https://user@example.org/",
    "https://:known.example@example.org/",
    "not an address",
  ])("a program is not registered with %s", async (uri) => {
    expect(await register([uri])).toMatchObject({ status: 400, error: "invalid_redirect_uri" });
  });

  test("a program without addresses, or without JSON, is not registered", async () => {
    expect((await register([])).status).toBe(400);
    expect((await register("https://example.org")).status).toBe(400);
    expect((await fetch(`${server.url}/oauth/register`, { method: "POST", body: "{" })).status).toBe(400);
  });

  test("a program on this machine may use another port, and no other machine", async () => {
    const { client_id: clientId = "" } = await register(["http://127.0.0.1:1/cb", "app.example:/cb"]);
    expect(await show(clientId, "http://127.0.0.1:50123/cb")).toEqual({
      name: "Program",
      redirectUri: "http://127.0.0.1:50123/cb",
    });
    expect((await show(clientId, "app.example:/cb")).name).toBe("Program");
    for (const uri of ["http://127.0.0.1:1/other", "http://localhost:1/cb", "https://evil.example.org/cb", "cb"]) {
      await expect(show(clientId, uri)).rejects.toThrow(PromptdError);
    }
    await expect(show(`${clientId.slice(0, -2)}aa`, "http://127.0.0.1:1/cb")).rejects.toThrow(PromptdError);
  });
});

test("the metadata leads from /mcp to the authorization server", async () => {
  const read = async (path: string) => (await (await fetch(server.url + path)).json()) as Record<string, unknown>;
  expect((await read("/.well-known/oauth-protected-resource/mcp"))["authorization_servers"]).toEqual([server.url]);
  expect(await read("/.well-known/oauth-authorization-server")).toMatchObject({
    issuer: server.url,
    authorization_endpoint: `${server.url}/oauth/authorize`,
    token_endpoint: `${server.url}/oauth/token`,
    code_challenge_methods_supported: ["S256"],
  });
});

test.each([
  ["/oauth/register", 20, JSON.stringify({ redirect_uris: [REDIRECT] }), 201],
  ["/oauth/token", 60, "grant_type=authorization_code", 400],
])(
  "%s accepts %d requests per minute from one address, and then says when to retry",
  async (path, most, body, status) => {
    const ask = () => fetch(`${server.url}${path}`, { method: "POST", body });
    await server.shiftTime(100); // the limits used up by other tests are over
    const before = await Promise.all(Array.from({ length: most }, ask));
    expect(new Set(before.map((answer) => answer.status))).toEqual(new Set([status]));
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: "too_many_requests", error_description: expect.any(String) });
    await server.shiftTime(200);
    expect((await ask()).status).toBe(status);
  },
);

test("a caller with a network of IPv6 addresses has the limit of a single address", async () => {
  const ask = (host: number) =>
    fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "x-forwarded-for": `2001:db8:7:7::${host.toString(16)}` },
      body: JSON.stringify({ redirect_uris: [REDIRECT] }),
    });
  const answers = await Promise.all(Array.from({ length: 21 }, (_, host) => ask(host + 1)));
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
});
