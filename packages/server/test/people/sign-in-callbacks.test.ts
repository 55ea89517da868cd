/** The whole path through a sign-in service and back: OpenID Connect, GitHub, and Google. */
import { ACCOUNT_HEADER } from "@promptd/contract/manage";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { startOidc, type TestOidc } from "./oidc-fixture.ts";
import { clientOf, createTestPerson } from "./people-fixture.ts";
import { cookiesOf, postAsPage } from "./page-requests.ts";
import { beginAt, comeBack, signInAt } from "./service-browser.ts";

let oidc: TestOidc;
let lines: Record<string, unknown>[];
let server: TestServer;
beforeAll(async () => {
  oidc = await startOidc({ sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" });
  lines = [];
  server = await startTestServer({
    log: pino(
      { level: "error", base: null },
      { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    environment: {
      PROMPTD_SIGN_UP: "open",
      OIDC_ISSUER: oidc.issuer,
      OIDC_CLIENT_ID: oidc.clientId,
      OIDC_CLIENT_SECRET: oidc.clientSecret,
      OIDC_NAME: "Example Inc.",
      GITHUB_CLIENT_ID: "github-client",
      GITHUB_CLIENT_SECRET: "github-secret",
      GOOGLE_CLIENT_ID: "google-client",
      GOOGLE_CLIENT_SECRET: "google-secret",
    },
  });
});
afterAll(async () => {
  await server.close();
  await oidc.close();
});
afterEach(async () => {
  oidc.forge = null;
  // The sign-in's own limit is per address, and every browser of this file has the same address.
  await server.app.db.query("delete from auth_rate_limits");
});

const begin = (provider: string, at = server) => beginAt(at.url, provider);
const signInBy = (provider: string, at = server) => signInAt(at.url, provider);

const sessionOf = (cookie: string) => clientOf(server, { cookie }).send("getSession");

describe("an OpenID Connect provider", () => {
  test("is offered by its name", async () => {
    expect(await clientOf(server, {}).send("getFeatures")).toMatchObject({
      signInWith: ["github", "google", "oidc"],
      oidcName: "Example Inc.",
    });
  });

  test("that cannot be reached delays nobody else, is named in the log, and works when it is back", async () => {
    oidc.isDown = true;
    await createTestPerson(server, { email: "other@example.org" });
    expect((await begin("oidc")).status).toBe(404);
    const msg = "nobody can sign in through OIDC_ISSUER: its discovery document is unusable";
    const address = `${oidc.issuer}/.well-known/openid-configuration`;
    await expect.poll(() => lines).toMatchObject([{ level: 50, msg, address, reason: "it responds with status 503" }]);
    oidc.isDown = false;
    expect((await begin("oidc")).status).toBe(200);
  });

  test("creates a person at the first sign-in, finds the same person at the next, and leaves no tokens here", async () => {
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    const [first, second] = [await signInBy("oidc"), await signInBy("oidc")];
    expect([first.location, second.location]).toEqual(["/", "/"]);
    const [one, two] = [await sessionOf(first.cookie), await sessionOf(second.cookie)];
    expect(one.person).toMatchObject({ email: "lin@example.org", name: "Lin" });
    expect(two.person.personId).toBe(one.person.personId);
    const tokens = "select access_token, refresh_token, id_token from auth_logins where provider_id = 'oidc'";
    expect(await server.app.db.query(tokens)).toEqual([{ access_token: null, refresh_token: null, id_token: null }]);
  });

  test("is not asked for its discovery document again by sign-ins of the next minutes", async () => {
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    await signInBy("oidc");
    const { discoveries } = oidc;
    expect((await signInBy("oidc")).location).toBe("/");
    expect(oidc.discoveries).toBe(discoveries);
  });

  test("signs nobody in with an ID token that somebody found", async () => {
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    await signInBy("oidc");
    const token = oidc.issueIdToken("nonce");
    const body = { provider: "oidc", callbackURL: "/", idToken: { token, nonce: "nonce" } };
    const response = await postAsPage(server, "/manage/auth/sign-in/social", body);
    expect([response.status, cookiesOf(response)]).toEqual([400, ""]);
  });

  test("never takes over an existing person through an address that it has not confirmed", async () => {
    await createTestPerson(server, { email: "ada@example.org" });
    oidc.person = { sub: "666", email: "ada@example.org", email_verified: false, name: "Not Ada" };
    const { location, cookie } = await signInBy("oidc");
    expect(location).toBe("/sign-in?error=account_not_linked");
    expect(cookie).not.toContain("session_token=");
  });

  test("never takes over an existing person whose address nobody has confirmed here", async () => {
    await createTestPerson(server, { email: "bob@example.org" });
    oidc.person = { sub: "667", email: "bob@example.org", email_verified: true, name: "Perhaps Bob" };
    expect((await signInBy("oidc")).location).toBe("/sign-in?error=account_not_linked");
  });

  test.each([
    ["another issuer", { iss: "https://evil.example" }],
    ["another client", { aud: "somebody-else" }],
    ["the nonce of another sign-in", { nonce: "x" }],
    ["an expiry in the past", { exp: 1 }],
  ])("whose ID token has %s signs nobody in", async (_what, changes) => {
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    oidc.forge = (claims) => ({ ...claims, ...changes });
    const { location, cookie } = await signInBy("oidc");
    expect(location).toMatch(/^\/sign-in\?error=/);
    expect(cookie).not.toContain("session_token=");
  });

  test("does not sign in a person who comes back in another browser, or a second time", async () => {
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    const { url, cookie } = await begin("oidc");
    const callback = (await fetch(url, { redirect: "manual" })).headers.get("location") ?? "";
    const other = await comeBack(callback, "");
    expect([other.location, other.cookie]).toEqual([
      expect.stringContaining("error="),
      expect.not.stringContaining("session_token="),
    ]);
    expect(other.location).toContain("/sign-in?error="); // a page of ours
    await comeBack(callback, cookie);
    expect((await comeBack(callback, cookie)).location).toContain("error=");
  });

  test.each(["header", "body"] as const)("may accept the client's secret only in the request's %s", async (where) => {
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    oidc.secretIn = where;
    onTestFinished(() => void (oidc.secretIn = null));
    expect((await signInBy("oidc")).location).toBe("/");
  });
});

describe("an OpenID Connect provider that changes while the server runs", () => {
  /** The server's clock is this process's. */
  const passTime = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
  const signInLin = async () => {
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    return (await signInBy("oidc")).location;
  };
  afterAll(() => void vi.useRealTimers());

  test.each(["PS256", "ES256", "EdDSA"] as const)(
    "signs people in ten minutes after it moved its endpoints and began to sign with %s",
    async (algorithm) => {
      expect(await signInLin()).toBe("/");
      oidc.path = `/${algorithm}`;
      oidc.rotateKey(algorithm);
      passTime(600_001);
      expect(await signInLin()).toBe("/");
    },
  );

  test("signs people in a minute after it replaced its key with another one for the same algorithm", async () => {
    expect(await signInLin()).toBe("/");
    oidc.rotateKey("EdDSA");
    passTime(60_000);
    expect(await signInLin()).toBe("/");
  });
});

describe("with sign-up by invitation, an OpenID Connect provider", () => {
  let invites: TestServer;
  beforeAll(async () => {
    const { issuer, clientId, clientSecret } = oidc;
    const environment = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
    invites = await startTestServer({ environment });
  });
  afterAll(() => invites.close());
  afterEach(() => invites.app.db.query("delete from auth_rate_limits").then(() => undefined));

  async function inviteTo(email: string): Promise<{ code: string; accountId: string }> {
    const { client, accountId } = await createTestPerson(invites);
    const { link } = await client.send("createInvitation", { body: { email, role: "member" } });
    return { code: new URL(link ?? "").hash.slice(1), accountId };
  }

  test("signs in a person invited under the address it has confirmed, and their link makes them a member", async () => {
    const { code, accountId } = await inviteTo("New@example.org");
    oidc.person = { sub: "20", email: "new@example.org", email_verified: true, name: "New" };
    const { location, cookie } = await signInBy("oidc", invites);
    expect(location).toBe("/");
    const own = (await clientOf(invites, { cookie }).send("getSession")).accountId;
    const headers = { [ACCOUNT_HEADER]: own };
    const joined = await clientOf(invites, { cookie }).send("joinAccount", { body: { code }, headers });
    expect(joined).toEqual({ accountId });
  });

  test.each([
    ["who was not invited", "stranger@example.org", true],
    ["who was invited under an address that it has not confirmed", "invited@example.org", false],
  ])("refuses a person %s", async (_who, email, isVerified) => {
    if (!isVerified) await inviteTo(email);
    oidc.person = { sub: email, email, email_verified: isVerified, name: "Somebody" };
    const { location, cookie } = await signInBy("oidc", invites);
    expect(location).toContain("/sign-in?error=SIGN_UP_REFUSED");
    expect(cookie).not.toContain("session_token=");
  });

  test("refuses an invited person once the invitation is revoked", async () => {
    const { client } = await createTestPerson(invites);
    const body = { email: "late@example.org", role: "member" } as const;
    const { invitationId } = await client.send("createInvitation", { body });
    await client.send("revokeInvitation", { params: { invitationId } });
    oidc.person = { sub: "21", email: "late@example.org", email_verified: true, name: "Late" };
    expect((await signInBy("oidc", invites)).location).toContain("error=SIGN_UP_REFUSED");
  });
});

describe("with OIDC_TRUST_EMAIL, an OpenID Connect provider", () => {
  let trusting: TestServer;
  beforeAll(async () => {
    const { issuer, clientId, clientSecret } = oidc;
    const client = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
    trusting = await startTestServer({ environment: { ...client, OIDC_TRUST_EMAIL: "on" } });
  });
  afterAll(() => trusting.close());
  afterEach(() => trusting.app.db.query("delete from auth_rate_limits").then(() => undefined));

  async function inviteAndComeAs(email: string, verified: { readonly email_verified?: boolean }) {
    const { client } = await createTestPerson(trusting);
    await client.send("createInvitation", { body: { email, role: "member" } });
    oidc.person = { sub: email, email, email_verified: false, name: "Somebody" };
    oidc.forge = ({ email_verified: _claim, ...claims }) => ({ ...claims, ...verified });
    return (await signInBy("oidc", trusting)).location;
  }

  test("signs in an invited person if it says nothing about the address", async () => {
    expect(await inviteAndComeAs("entra@example.org", {})).toBe("/");
  });

  test("refuses an invited person if it says that the address is not confirmed", async () => {
    const location = await inviteAndComeAs("denied@example.org", { email_verified: false });
    expect(location).toContain("/sign-in?error=SIGN_UP_REFUSED");
  });
});

describe("GitHub and Google", () => {
  afterEach(() => vi.unstubAllGlobals());

  /** Both have addresses that no setting changes, so these responses replace theirs. */
  function standIn(answers: Readonly<Record<string, unknown>>): Request[] {
    const requests: Request[] = [];
    const real = globalThis.fetch;
    vi.stubGlobal("fetch", async (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input, init);
      const { origin, pathname } = new URL(request.url);
      if (origin === server.url || origin === oidc.issuer) return real(input, init);
      requests.push(request.clone());
      const answer = answers[origin + pathname];
      return answer === undefined ? new Response("{}", { status: 404 }) : Response.json(answer);
    });
    return requests;
  }

  test("GitHub: the callback exchanges the code, and the person gets the primary address", async () => {
    const requests = standIn({
      "https://github.com/login/oauth/access_token": {
        access_token: "token-1",
        token_type: "bearer",
        scope: "user:email",
      },
      "https://api.github.com/user": { id: 42, login: "mona", name: "Mona", email: null, avatar_url: null },
      "https://api.github.com/user/emails": [{ email: "mona@example.org", primary: true, verified: true }],
    });
    const { url, cookie } = await begin("github");
    const state = new URL(url).searchParams.get("state") ?? "";
    const back = await comeBack(`${server.url}/manage/auth/callback/github?code=abc&state=${state}`, cookie);
    expect(back.location).toBe("/");
    expect((await sessionOf(back.cookie)).person).toMatchObject({ email: "mona@example.org", name: "Mona" });
    const form = new URLSearchParams(await requests[0]?.text());
    expect([form.get("code"), form.get("client_id"), form.get("redirect_uri")]).toEqual([
      "abc",
      "github-client",
      `${server.url}/manage/auth/callback/github`,
    ]);
  });

  test("GitHub: an address that is not confirmed there takes over nobody", async () => {
    await createTestPerson(server, { email: "carol@example.org" });
    standIn({
      "https://github.com/login/oauth/access_token": { access_token: "token-2", token_type: "bearer" },
      "https://api.github.com/user": { id: 43, login: "carol", name: "Carol", email: "carol@example.org" },
      "https://api.github.com/user/emails": [{ email: "carol@example.org", primary: true, verified: false }],
    });
    const { url, cookie } = await begin("github");
    const state = new URL(url).searchParams.get("state") ?? "";
    const back = await comeBack(`${server.url}/manage/auth/callback/github?code=abc&state=${state}`, cookie);
    expect(back.location).toBe("/sign-in?error=account_not_linked");
  });

  test("Google: the callback reads the person from the ID token", async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = {
      iss: "https://accounts.google.com",
      aud: "google-client",
      sub: "7",
      email: "gia@example.org",
      email_verified: true,
      name: "Gia",
      exp: 4_102_444_800,
      iat: 1,
    };
    const requests = standIn({
      "https://oauth2.googleapis.com/token": {
        access_token: "token-3",
        token_type: "Bearer",
        expires_in: 300,
        id_token: `${part({ alg: "RS256" })}.${part(claims)}.${part("signature")}`,
      },
    });
    const { url, cookie } = await begin("google");
    const state = new URL(url).searchParams.get("state") ?? "";
    const back = await comeBack(`${server.url}/manage/auth/callback/google?code=abc&state=${state}`, cookie);
    expect(requests.map((request) => new URL(request.url).host)).toContain("oauth2.googleapis.com");
    expect(back.location).toBe("/");
    expect((await sessionOf(back.cookie)).person).toMatchObject({ email: "gia@example.org", name: "Gia" });
  });
});
