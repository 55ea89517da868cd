/** Password guesses for one person are limited, however many addresses they come from. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestServer } from "../support/test-server.ts";
import { startServerWithMail, type ServerWithMail, type TestMailServer } from "./mail-fixture.ts";
import { createTestPerson, PASSWORD, totpOf } from "./people-fixture.ts";
import { cookiesOf, postAsPage } from "./page-requests.ts";

let mail: TestMailServer;
let server: TestServer;
let post: ServerWithMail["post"];
let close: ServerWithMail["close"];
beforeAll(async () => {
  ({ mail, server, post, close } = await startServerWithMail());
});
afterAll(() => close());

const signIn = (email: string, password = PASSWORD) => post("/sign-in/email", { email, password });

/** As if the last password had been tried fifty times. */
async function exhaustTries(): Promise<void> {
  await server.app.db.query("update auth_rate_limits set count = 50 where key like 'password:%'");
}

test("a password can be tried 50 times an hour, then even the correct one is refused; a new password by mail ends that", async () => {
  await createTestPerson(server, { email: "ada@example.org" });
  await createTestPerson(server, { email: "bob@example.org" });
  expect((await signIn("Ada@example.org", "a guess of somebody")).status).toBe(401);
  await exhaustTries();
  const refused = await signIn("ada@example.org");
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("within an hour")]);
  expect((await signIn("bob@example.org")).status).toBe(200);

  await post("/request-password-reset", { email: "ada@example.org" });
  const { link } = await mail.waitFor("ada@example.org");
  const newPassword = "another long password";
  expect((await post("/reset-password", { token: link.split("#")[1], newPassword })).status).toBe(200);
  expect((await signIn("ada@example.org", newPassword)).status).toBe(200);
});

test("an unknown address is refused the same way", async () => {
  expect((await signIn("nobody@example.org", "a guess of somebody")).status).toBe(401);
  await exhaustTries();
  expect((await signIn("nobody@example.org", "a guess of somebody")).status).toBe(429);
});

test("somebody with another person's open session cannot try the password more often", async () => {
  const eve = await createTestPerson(server, { email: "eve@example.org" });
  const change = (currentPassword: string) =>
    post("/change-password", { currentPassword, newPassword: "another long password" }, eve.cookie);
  expect((await change("a guess of somebody")).status).toBe(400);
  await exhaustTries();
  expect((await change(PASSWORD)).status).toBe(429);
  expect((await post("/two-factor/enable", { password: PASSWORD }, eve.cookie)).status).toBe(429);
});

test("the hourly limit is not reset by a sign-in after the minute of another limit", async () => {
  const { db } = server.app;
  const mia = await createTestPerson(server, { email: "mia@example.org" });
  await mia.client.send("requestEmailChange", { body: { email: "new@example.org", password: PASSWORD } });
  const login = { email: "mia@example.org", password: PASSWORD };
  const again = () => postAsPage(server, "/manage/auth/sign-in/email", login, { "x-forwarded-for": "192.0.2.9" });
  expect((await again()).status).toBe(200);
  await db.query("update auth_rate_limits set last_request = last_request - 100000");
  expect((await again()).status).toBe(200);
  const countOf = "select count from auth_rate_limits where key = $1";
  expect(await db.query(countOf, [`email-change:${mia.personId}`])).toEqual([{ count: 1 }]);
});

test("ten wrong authenticator codes lock the second factor, across several sign-ins", async () => {
  const zoe = await createTestPerson(server, { email: "zoe@example.org" });
  const enabled = await post("/two-factor/enable", { password: PASSWORD }, zoe.cookie);
  const { totpURI } = (await enabled.json()) as { totpURI: string };
  const code = () => totpOf(new URL(totpURI).searchParams.get("secret") ?? "");
  const verify = (cookie: string, given: string) => post("/two-factor/verify-totp", { code: given }, cookie);
  expect((await verify(zoe.cookie, code())).status).toBe(200);
  for (let half = 0; half < 2; half += 1) {
    const cookie = cookiesOf(await signIn("zoe@example.org"));
    for (let guess = 0; guess < 5; guess += 1) expect((await verify(cookie, "000000")).status).toBe(401);
  }
  expect((await verify(cookiesOf(await signIn("zoe@example.org")), code())).status).toBe(429);
});

test("attempts that were counted while the database's clock was a day ahead refuse nobody after it steps back", async () => {
  await createTestPerson(server, { email: "tia@example.org" });
  const headers = { "content-type": "application/json", origin: server.url, "x-forwarded-for": "192.0.2.77" };
  const body = JSON.stringify({ email: "tia@example.org", password: PASSWORD });
  const again = async () =>
    (await fetch(`${server.url}/manage/auth/sign-in/email`, { method: "POST", headers, body })).status;
  await server.shiftTime(86_400);
  expect([await again(), await again(), await again(), await again()]).toEqual([200, 200, 200, 429]);
  await server.shiftTime(0);
  expect(await again()).toBe(200);
});
