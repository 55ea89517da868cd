/** Sign-in services: configured ones are offered, and lead to the service with our own client. */
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/platform/config/config.ts";
import { startTestServer } from "../support/test-server.ts";
import { createTestPerson } from "./people-fixture.ts";
import { postAsPage } from "./page-requests.ts";

test("a configured service is offered, and an unconfigured one is not", async () => {
  const environment = { GITHUB_CLIENT_ID: "our-client", GITHUB_CLIENT_SECRET: "our-secret" };
  const server = await startTestServer({ environment });
  onTestFinished(() => server.close());
  const { client } = await createTestPerson(server);
  expect((await client.send("getSession")).features.signInWith).toEqual(["github"]);
  const begin = (provider: string) => postAsPage(server, "/manage/auth/sign-in/social", { provider, callbackURL: "/" });
  const { url } = (await (await begin("github")).json()) as { url: string };
  const { origin, searchParams } = new URL(url);
  expect([origin, searchParams.get("client_id"), searchParams.get("redirect_uri")]).toEqual([
    "https://github.com",
    "our-client",
    `${server.url}/manage/auth/callback/github`,
  ]);
  expect(url).not.toContain("our-secret");
  expect((await begin("google")).status).toBe(404);
});

test("an id without its secret is a configuration error", () => {
  expect(() => readConfig({ GOOGLE_CLIENT_ID: "x" })).toThrow("GOOGLE_CLIENT_ID also requires GOOGLE_CLIENT_SECRET.");
});

test.each([
  [{ OIDC_ISSUER: "https://id.example.org" }, "OIDC_ISSUER also requires OIDC_CLIENT_ID, OIDC_CLIENT_SECRET."],
  [{ PROMPTD_SMTP_URL: "smtp://mail.example.org" }, "PROMPTD_SMTP_URL and PROMPTD_MAIL_FROM require each other."],
  [{ PROMPTD_MAIL_FROM: "promptd@example.org" }, "PROMPTD_SMTP_URL and PROMPTD_MAIL_FROM require each other."],
])("%j alone is a configuration error", (environment, message) => {
  expect(() => readConfig(environment)).toThrow(message);
});

test("a mail server's password is not repeated in the message about a wrong address", () => {
  const read = () => readConfig({ PROMPTD_SMTP_URL: "mail:hunter2@host", PROMPTD_MAIL_FROM: "a@example.org" });
  expect(read).toThrow("PROMPTD_SMTP_URL must be");
  expect(read).not.toThrow("hunter2");
});
