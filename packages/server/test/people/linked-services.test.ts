/** Linking a sign-in service to an existing person, and unlinking it: who may, and what works afterward. */
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { startOidc, type TestOidc } from "./oidc-fixture.ts";
import { cookiesOf, postAsPage } from "./page-requests.ts";
import { clientOf, createTestPerson, PASSWORD, type TestPerson } from "./people-fixture.ts";
import { comeBack, signInAt } from "./service-browser.ts";

let oidc: TestOidc;
let server: TestServer;
beforeAll(async () => {
  oidc = await startOidc({ sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" });
  const { issuer, clientId, clientSecret } = oidc;
  const environment = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  server = await startTestServer({ environment });
});
afterAll(async () => {
  await server.close();
  await oidc.close();
});
afterEach(() => server.app.db.query("delete from auth_rate_limits").then(() => undefined));

interface Login {
  readonly id: string;
  readonly providerId: string;
}

const isAtService = (sub: string) => {
  oidc.person = { sub, email: `${sub}@service.example.org`, email_verified: true, name: "Somebody" };
};

const post = (path: string, { cookie }: Pick<TestPerson, "cookie">, body: object) =>
  postAsPage(server, `/manage/auth/${path}`, body, { cookie });

const codeOf = async (response: Response) => ((await response.json()) as { code?: string }).code;

const askToLink = (person: Pick<TestPerson, "cookie">, password?: string) =>
  post("link-social", person, {
    provider: "oidc",
    password,
    callbackURL: "/settings/security?linked=oidc",
    errorCallbackURL: "/settings/security",
  });

/** @returns where the browser is sent at the end. */
async function link(person: Pick<TestPerson, "cookie">, password?: string): Promise<string> {
  const response = await askToLink(person, password);
  const { url = "" } = (await response.json()) as { url?: string };
  const sent = await fetch(url, { redirect: "manual" });
  return (await comeBack(sent.headers.get("location") ?? "", `${person.cookie}; ${cookiesOf(response)}`)).location;
}

async function loginsOf({ cookie }: Pick<TestPerson, "cookie">): Promise<readonly Login[]> {
  const response = await fetch(`${server.url}/manage/auth/list-accounts`, { headers: { cookie } });
  return (await response.json()) as Login[];
}

async function unlink(person: Pick<TestPerson, "cookie">, password?: string): Promise<Response> {
  const login = (await loginsOf(person)).find(({ providerId }) => providerId === "oidc");
  return post("unlink-account", person, { accountId: login?.id ?? "", password });
}

const providersOf = async (person: Pick<TestPerson, "cookie">) =>
  (await loginsOf(person)).map(({ providerId }) => providerId).toSorted();

/** A person whose only login is the service, as after signing up through it. */
async function withoutPassword(sub: string): Promise<TestPerson> {
  const person = await createTestPerson(server);
  isAtService(sub);
  await link(person, PASSWORD);
  await server.app.db.query("delete from auth_logins where user_id = $1 and provider_id = 'credential'", [
    person.personId,
  ]);
  return person;
}

describe("a person with a password", () => {
  test("links a service that knows them by another address, signs in with it, and unlinks it", async () => {
    const ada = await createTestPerson(server);
    isAtService("ada");
    expect(await link(ada, PASSWORD)).toBe("/settings/security?linked=oidc");
    expect(await providersOf(ada)).toEqual(["credential", "oidc"]);
    const { location, cookie } = await signInAt(server.url, "oidc");
    expect(location).toBe("/");
    expect((await clientOf(server, { cookie }).send("getSession")).person.personId).toBe(ada.personId);
    expect((await unlink(ada, PASSWORD)).status).toBe(200);
    expect(await providersOf(ada)).toEqual(["credential"]);
    expect((await signInAt(server.url, "oidc")).location).toContain("/sign-in?error=SIGN_UP_REFUSED");
    const rows = await server.app.db.query(
      "select action, outcome from audit_entries where person_id = $1 and action like '%SignInService' order by id",
      [ada.personId],
    );
    expect(rows).toEqual([
      { action: "addSignInService", outcome: "SUCCESS" },
      { action: "linkSignInService", outcome: "SUCCESS" },
      { action: "removeSignInService", outcome: "SUCCESS" },
    ]);
  });

  test.each([["wrong"], [undefined]])("links and unlinks nothing with the password %j", async (password) => {
    const person = await createTestPerson(server);
    isAtService(`of-${person.personId}`);
    expect(await codeOf(await askToLink(person, password))).toBe("INVALID_PASSWORD");
    await link(person, PASSWORD);
    expect(await codeOf(await unlink(person, password))).toBe("INVALID_PASSWORD");
    expect(await providersOf(person)).toEqual(["credential", "oidc"]);
  });

  test("cannot guess the password of an open session forever", async () => {
    const person = await createTestPerson(server);
    expect((await askToLink(person, "wrong")).status).toBe(400);
    // Each of the 50 attempts would take 60 ms of processor time.
    await server.app.db.query("update auth_rate_limits set count = 47 where key like 'password:%'");
    const attempts = await Promise.all(Array.from({ length: 4 }, () => askToLink(person, "wrong")));
    expect(attempts.filter(({ status }) => status === 429)).toHaveLength(1);
  });

  test("does not link an account at the service of another person", async () => {
    const [first, second] = [await createTestPerson(server), await createTestPerson(server)];
    isAtService("taken");
    await link(first, PASSWORD);
    const refused = "/settings/security?error=account_already_linked_to_different_user";
    expect(await link(second, PASSWORD)).toContain(refused);
    expect(await providersOf(second)).toEqual(["credential"]);
  });

  test.each([
    ["has not confirmed", false],
    ["says nothing about, as Entra ID does", null],
  ])("links and uses an account whose address the service %s, but the address opens nothing", async (_what, says) => {
    const person = await createTestPerson(server);
    const victim = await createTestPerson(server, { email: `victim-${String(says)}@example.org` });
    await server.app.db.query("update auth_users set email_verified = true where id = $1", [victim.personId]);
    const email = `victim-${String(says)}@example.org`;
    oidc.person = { sub: `entra-${String(says)}`, email, email_verified: says ?? false, name: "Somebody" };
    if (says === null) oidc.forge = ({ email_verified: _claim, ...claims }) => claims;
    onTestFinished(() => void (oidc.forge = null));
    expect((await signInAt(server.url, "oidc")).location).toBe("/sign-in?error=account_not_linked");
    expect(await link(person, PASSWORD)).toBe("/settings/security?linked=oidc");
    const { cookie } = await signInAt(server.url, "oidc");
    expect((await clientOf(server, { cookie }).send("getSession")).person.personId).toBe(person.personId);
    expect(await providersOf(victim)).toEqual(["credential"]);
  });

  test("is linked to a service by signing in there with the confirmed address, and a row of the log says so", async () => {
    const { personId } = await createTestPerson(server, { email: "same@service.example.org" });
    await server.app.db.query("update auth_users set email_verified = true where id = $1", [personId]);
    isAtService("same");
    await signInAt(server.url, "oidc");
    await signInAt(server.url, "oidc");
    const rows = await server.app.db.query(
      "select actor, action, address, outcome from audit_entries where person_id = $1 and action <> 'welcome' order by id",
      [personId],
    );
    const row = { actor: "none", address: "127.0.0.1", outcome: "SUCCESS" };
    expect(rows).toEqual([
      { ...row, action: "linkSignInService" },
      { ...row, action: "signIn" },
      { ...row, action: "signIn" },
    ]);
  });

  test("links nothing if they signed out on the way", async () => {
    const person = await createTestPerson(server);
    isAtService("late");
    const response = await askToLink(person, PASSWORD);
    const { url } = (await response.json()) as { url: string };
    const sent = await fetch(url, { redirect: "manual" });
    await post("sign-out", person, {});
    const { location } = await comeBack(sent.headers.get("location") ?? "", `${person.cookie}; ${cookiesOf(response)}`);
    expect(location).toContain("/settings/security?error=unable_to_link_account");
  });
});

describe("a person without a password", () => {
  test("confirms with a recent sign-in instead", async () => {
    const person = await withoutPassword("recent");
    isAtService("second");
    expect(await link(person)).toBe("/settings/security?linked=oidc");
    expect((await unlink(person)).status).toBe(200);
    const old = "update auth_sessions set created_at = created_at - interval '61 minutes' where user_id = $1";
    await server.app.db.query(old, [person.personId]);
    expect(await codeOf(await askToLink(person))).toBe("SIGN_IN_TOO_OLD");
    expect(await codeOf(await unlink(person))).toBe("SIGN_IN_TOO_OLD");
  });

  test("unlinks the last service only if they have a passkey", async () => {
    const person = await withoutPassword("last");
    expect(await codeOf(await unlink(person))).toBe("LAST_WAY_IN");
    await server.app.db.query(
      `insert into auth_passkeys (id, user_id, credential_id, public_key, counter, device_type, backed_up)
       values (promptd_new_id(), $1, 'credential of last', 'key', 0, 'singleDevice', false)`,
      [person.personId],
    );
    expect((await unlink(person)).status).toBe(200);
    expect(await providersOf(person)).toEqual([]);
  });
});

test("somebody who is not signed in links and unlinks nothing", async () => {
  expect((await askToLink({ cookie: "" }, PASSWORD)).status).toBe(401);
  expect((await post("unlink-account", { cookie: "" }, { accountId: "x", password: PASSWORD })).status).toBe(401);
});
