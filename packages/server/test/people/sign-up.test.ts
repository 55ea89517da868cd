/** Who may sign up on their own, with what, and how often somebody may try to sign in. */
import { onTestFinished, expect, test, vi } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { createTestPerson, PASSWORD, personOf } from "./people-fixture.ts";
import { cookiesOf, postAsPage } from "./page-requests.ts";

async function start(environment: Record<string, string>): Promise<TestServer> {
  const server = await startTestServer({ environment });
  onTestFinished(() => server.close());
  return server;
}

const signUp = (server: TestServer, email: string, name: unknown = "Lin", from = "192.0.2.1") =>
  postAsPage(server, "/manage/auth/sign-up/email", { email, password: PASSWORD, name }, { "x-forwarded-for": from });

test("open: everyone gets their own account with what the settings grant, once per address", async () => {
  const server = await start({
    PROMPTD_SIGN_UP: "open",
    PROMPTD_SIGN_UP_CREDITS: "5",
    PROMPTD_SIGN_UP_PLAN: "pro",
  });
  const first = await signUp(server, "lin@example.org");
  expect(first.status).toBe(200);
  const lin = await personOf(server, cookiesOf(first));
  const { accounts } = await lin.client.send("getSession");
  expect([accounts[0]?.hasPlan, (await lin.client.send("getCredits")).available]).toEqual([true, 5]);
  expect((await signUp(server, "lin@example.org")).status).toBe(422);
  await lin.client.send("deleteAccount", { body: { confirm: "lin@example.org", prompts: "remove" } });
  const again = await signUp(server, "Lin+again@example.org");
  const same = await personOf(server, cookiesOf(again));
  const session = await same.client.send("getSession");
  expect([session.accounts[0]?.hasPlan, (await same.client.send("getCredits")).available]).toEqual([false, 0]);
});

test("a name must be one that others can be shown, at sign-up and after it", async () => {
  const server = await start({ PROMPTD_SIGN_UP: "open", PROMPTD_PROXIES: "1" });
  const names = [
    "",
    " ",
    "\u200b",
    "\u0000x",
    "Li\u202en",
    "Li\u2066n",
    "Li\u001bn",
    "Li\u0085n",
    "https://evil.example",
    "x".repeat(101),
    5,
  ];
  for (const [at, name] of names.entries()) {
    const answer = await signUp(server, "lin@example.org", name, `192.0.2.${10 + at}`);
    expect([name, answer.status]).toEqual([name, 400]);
  }
  expect(await server.app.db.query("select 1 from auth_users")).toEqual([]);
  const first = await signUp(server, "lin@example.org", " Lin ");
  const lin = await personOf(server, cookiesOf(first));
  const nameOf = async () => (await lin.client.send("getSession")).person.name;
  expect(await nameOf()).toBe("Lin");
  const rename = (body: object) => postAsPage(server, "/manage/auth/update-user", body, { cookie: lin.cookie });
  for (const name of names) expect([name, (await rename({ name })).status]).toEqual([name, 400]);
  expect((await rename({ name: "Lin Chen" })).status).toBe(200);
  expect(await nameOf()).toBe("Lin Chen");
});

test("refused requests leave no error in the log, and nothing else", async () => {
  const error = vi.fn();
  const printed = vi.spyOn(console, "error");
  const server = await startTestServer({ log: { ...createLog("silent"), error } });
  onTestFinished(() => server.close());
  const { cookie } = await createTestPerson(server);
  const statuses = [
    await postAsPage(server, "/manage/auth/sign-out", {}, { cookie, origin: "https://elsewhere.example" }),
    await postAsPage(server, "/manage/auth/sign-in/email", { email: "nobody@example.org", password: PASSWORD }),
    await postAsPage(server, "/manage/auth/delete-user", {}, { cookie }),
    // With it, passwords could be tried any number of times through a session that somebody has left open.
    await postAsPage(server, "/manage/auth/verify-password", { password: PASSWORD }, { cookie }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([403, 401, 404, 404]);
  expect([error.mock.calls, printed.mock.calls]).toEqual([[], []]);
});

test.each(["off", "invite"])("%s: nobody signs up on their own", async (mode) => {
  const server = await start({ PROMPTD_SIGN_UP: mode });
  const answer = await signUp(server, "lin@example.org");
  expect([answer.status, await answer.json()]).toMatchObject([403, { code: "SIGN_UP_REFUSED" }]);
  expect(await server.app.db.query("select 1 from auth_users")).toEqual([]);
});

test.each(["off", "invite"])("%s: a sign-up does not reveal who has an account", async (mode) => {
  const server = await start({ PROMPTD_SIGN_UP: mode });
  await createTestPerson(server, { email: "ada@example.org" });
  const answers = await Promise.all(["ada@example.org", "unknown@example.org"].map((email) => signUp(server, email)));
  const [known, unknown] = await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]));
  expect(known).toEqual(unknown);
});

test("open: an address for which an operator has made an account is not taken over", async () => {
  const server = await start({ PROMPTD_SIGN_UP: "open" });
  await server.createCaller();
  const answer = await signUp(server, "caller-1@example.org");
  expect([answer.status, await answer.json()]).toMatchObject([403, { code: "SIGN_UP_REFUSED" }]);
});

test("a fourth sign-in attempt within ten seconds is refused in every process, even with the correct password", async () => {
  const server = await start({});
  const other = await server.startAnother("api");
  await createTestPerson(server, { email: "ada@example.org" });
  const attempt = (url: string, password: string) =>
    postAsPage({ url }, "/manage/auth/sign-in/email", { email: "ada@example.org", password });
  const urls = [server.url, other.listenUrl ?? "", server.url];
  for (const url of urls) expect((await attempt(url, "a wrong password")).status).toBe(401);
  const refused = await attempt(other.listenUrl ?? "", PASSWORD);
  expect([refused.status, refused.headers.get("set-cookie")]).toEqual([429, null]);
  expect(Number(refused.headers.get("x-retry-after"))).toBeGreaterThan(0);
});

test("a text that cannot be stored, and a picture, are refused before anything is looked up", async () => {
  const server = await start({});
  const { cookie } = await createTestPerson(server);
  const post = async (path: string, body: object) =>
    (await postAsPage(server, `/manage/auth/${path}`, body, { cookie })).status;
  const get = async (path: string) =>
    (await fetch(`${server.url}/manage/auth/${path}`, { redirect: "manual", headers: { cookie } })).status;
  const statuses = await Promise.all([
    post("update-user", { name: "Lin", image: "https://evil.example/track.png" }),
    post("unlink-account", { accountId: "\0", password: PASSWORD }),
    post("two-factor/verify-totp", { code: { "\0": "\ud800" } }),
    get("callback/oidc?code=x&state=%00"),
    get("verify-email?token=%00"),
  ]);
  expect(statuses).toEqual([400, 400, 400, 400, 400]);
});
