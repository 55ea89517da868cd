/** An address that nobody has confirmed leads to nobody's account: not by password, and not by a sign-in service. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { startMailServer, type TestMailServer } from "./mail-fixture.ts";
import { startOidc, type TestOidc } from "./oidc-fixture.ts";
import { clientOf, createTestPerson, PASSWORD } from "./people-fixture.ts";
import { codeIn, cookiesOf, postAsPage } from "./page-requests.ts";

let mail: TestMailServer;
let oidc: TestOidc;
let server: TestServer;
beforeAll(async () => {
  const person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
  [mail, oidc] = await Promise.all([startMailServer(), startOidc(person)]);
  const environment = {
    PROMPTD_SIGN_UP: "open",
    PROMPTD_SMTP_URL: mail.url,
    PROMPTD_MAIL_FROM: "promptd@example.org",
    OIDC_ISSUER: oidc.issuer,
    OIDC_CLIENT_ID: oidc.clientId,
    OIDC_CLIENT_SECRET: oidc.clientSecret,
  };
  server = await startTestServer({ environment });
});
afterAll(async () => {
  await server.close();
  await Promise.all([mail.close(), oidc.close()]);
});
// Every browser of this file has the same address, and the library limits sign-ups by address.
beforeEach(() => server.app.db.query("delete from auth_rate_limits").then(() => undefined));

const post = (path: string, body: unknown) => postAsPage(server, `/manage/auth${path}`, body);
const emailOf = async (cookie: string) => (await clientOf(server, { cookie }).send("getSession")).person.email;

/** Signs in through the service, as somebody with this address. */
async function comeByService(sub: string, email: string, isConfirmed: boolean) {
  oidc.person = { sub, email, email_verified: isConfirmed, name: "Somebody" };
  const begun = await post("/sign-in/social", { provider: "oidc", callbackURL: "/", errorCallbackURL: "/sign-in" });
  const { url } = (await begun.json()) as { url: string };
  const callback = (await fetch(url, { redirect: "manual" })).headers.get("location") ?? "";
  const back = await fetch(callback, { redirect: "manual", headers: { cookie: cookiesOf(begun) } });
  const cookie = cookiesOf(back);
  return { location: back.headers.get("location"), cookie: cookie.includes("session_token=") ? cookie : "" };
}

/** Does what a confirmation link's page does when somebody presses its button. */
const confirm = (link: string) =>
  fetch(`${server.url}/manage/auth/verify-email?token=${codeIn(link)}`, {
    headers: { "content-type": "application/json" },
    redirect: "manual",
  });

async function setPassword(email: string, newPassword: string): Promise<number> {
  const before = mail.received.filter(({ to }) => to.includes(email)).length;
  await post("/request-password-reset", { email });
  const { link } = await mail.waitFor(email, before + 1);
  return (await post("/reset-password", { token: codeIn(link), newPassword })).status;
}

test("a new person whose address the service has not confirmed gets in after confirming it, not before", async () => {
  expect(await comeByService("10", "new@example.org", false)).toEqual({
    location: "/sign-in?error=email_not_verified",
    cookie: "",
  });
  const { link } = await mail.waitFor("new@example.org");
  expect(await emailOf(cookiesOf(await confirm(link)))).toBe("new@example.org");
  expect((await comeByService("10", "new@example.org", false)).location).toBe("/");
});

test("a stranger who came by the service under somebody's address does not get in once its owner sets a password", async () => {
  await comeByService("20", "owner@example.org", false);
  await mail.waitFor("owner@example.org");
  expect(await setPassword("owner@example.org", PASSWORD)).toBe(200);
  expect(await comeByService("20", "owner@example.org", false)).toEqual({
    location: "/sign-in?error=account_not_linked",
    cookie: "",
  });
  const signedIn = await post("/sign-in/email", { email: "owner@example.org", password: PASSWORD });
  expect(await emailOf(cookiesOf(signedIn))).toBe("owner@example.org");
});

test("the first password set by mail removes earlier ways to sign in, and later ones remove none", async () => {
  const ada = await createTestPerson(server, { email: "ada@example.org" });
  const { db } = server.app;
  const add = (id: string) =>
    db.query(
      `with login as (insert into auth_logins (id, user_id, provider_id, account_id)
         values (promptd_new_id(), $1, 'oidc', $2))
       insert into auth_passkeys (id, user_id, public_key, credential_id, counter, device_type, backed_up)
       values (promptd_new_id(), $1, '', $2, 0, 'singleDevice', false)`,
      [ada.personId, id],
    );
  const count = async () =>
    (
      await db.query<{ ways: number }>(
        `select (select count(*) from auth_logins where user_id = $1)::int
           + (select count(*) from auth_passkeys where user_id = $1)::int as ways`,
        [ada.personId],
      )
    )[0]?.ways;
  await add("first");
  expect(await setPassword("ada@example.org", PASSWORD)).toBe(200);
  expect(await count()).toBe(1);
  await add("second");
  expect(await setPassword("ada@example.org", PASSWORD)).toBe(200);
  expect(await count()).toBe(3);
});

test("a confirmation link does not get around a second factor", async () => {
  const email = "factor@example.org";
  const { personId } = await createTestPerson(server, { email });
  await server.app.db.query("update auth_users set two_factor_enabled = true where id = $1", [personId]);
  expect((await post("/send-verification-email", { email })).status).toBe(200);
  const confirmed = await confirm((await mail.waitFor(email)).link);
  expect([confirmed.status, cookiesOf(confirmed)]).toEqual([401, ""]);
  const signedIn = await post("/sign-in/email", { email, password: PASSWORD });
  expect(await signedIn.json()).toMatchObject({ twoFactorRedirect: true });
});

test("a person who signed up without confirming is not taken over by a service; a password set by mail links it", async () => {
  await post("/sign-up/email", { email: "late@example.org", password: "a stranger's password", name: "Late" });
  await mail.waitFor("late@example.org");
  expect((await comeByService("30", "late@example.org", true)).location).toBe("/sign-in?error=account_not_linked");
  expect(await setPassword("late@example.org", PASSWORD)).toBe(200);
  expect(await emailOf((await comeByService("30", "late@example.org", true)).cookie)).toBe("late@example.org");
  const stranger = await post("/sign-in/email", { email: "late@example.org", password: "a stranger's password" });
  expect(stranger.status).toBe(401);
});

test("a person who came by a service and then signs up with a password gets a mail that says how to get in", async () => {
  await comeByService("40", "twice@example.org", true);
  const signUp = (email: string) => post("/sign-up/email", { email, password: PASSWORD, name: "Lin" });
  const [taken, free] = [await signUp("twice@example.org"), await signUp("free@example.org")];
  expect([taken.status, Object.keys((await taken.json()) as object)]).toEqual([
    free.status,
    Object.keys((await free.json()) as object),
  ]);
  expect((await mail.waitFor("twice@example.org")).link).toBe(`${server.url}/forgot-password`);
  const signedIn = await post("/sign-in/email", { email: "twice@example.org", password: PASSWORD });
  expect(signedIn.status).toBe(401);
});
