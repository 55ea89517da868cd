import { PromptdError } from "@promptd/client";
import { ACCOUNT_HEADER } from "@promptd/contract/manage";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { mintCode } from "../../src/people/index.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { clientOf, createTestPerson, PASSWORD, personOf, tokenClient, type TestPerson } from "./people-fixture.ts";
import { cookiesOf, postAsPage } from "./page-requests.ts";

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server, { email: "ada@example.org" });
});
afterAll(() => server.close());

const problemOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable("it was not refused"),
    (error: unknown) => (error instanceof PromptdError ? error : Promise.reject(error)),
  );
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  postAsPage(server, path, body, headers);
const listAudit = async (
  { client }: TestPerson,
  query: { q?: string; action?: string; personId?: string; reads?: "with" | "without" },
) => (await client.send("listAudit", { query })).rows;
const setUp = { personId: null, accountId: null, makesOperator: false, signsIn: false };

describe("a one-time code", () => {
  test("asks for a password first, is valid until it is used, and works once", async () => {
    const code = await mintCode(server.app.db, { ...setUp, makesOperator: true });
    const client = clientOf(server, {});
    expect(await client.send("welcome", { body: { code } })).toEqual({ kind: "set_up", email: null });
    const short = await problemOf(
      client.send("welcome", { body: { code, email: "op@example.org", password: "short" } }),
    );
    expect([short.code, short.issues.map(({ path }) => path)]).toEqual(["VALIDATION_ERROR", [["body", "password"]]]);
    const done = await client.send("welcome", { body: { code, email: "op@example.org", password: PASSWORD } });
    expect(done.kind).toBe("signed_in");
    const again = await problemOf(
      client.send("welcome", { body: { code, email: "x@example.org", password: PASSWORD } }),
    );
    const unknown = await problemOf(client.send("welcome", { body: { code: "nothing" } }));
    expect([again.code, again.message]).toEqual([unknown.code, unknown.message]);
  });

  test("stays valid if what it grants cannot be written, and leaves no half of a person behind", async () => {
    const { db } = server.app;
    const code = await mintCode(db, { ...setUp, makesOperator: true });
    const send = () =>
      clientOf(server, {}).send("welcome", { body: { code, email: "half@example.org", password: PASSWORD } });
    await db.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before update of is_operator on auth_users for each row execute function refuse()`);
    expect((await problemOf(send())).code).toBe("SERVER_ERROR");
    await db.query("drop function refuse cascade");
    expect(await db.query("select 1 from auth_users where email = 'half@example.org'")).toEqual([]);
    expect((await send()).kind).toBe("signed_in");
  });

  test("expires after an hour", async () => {
    const code = await mintCode(server.app.db, setUp);
    await server.shiftTime(3_601);
    const late = await problemOf(clientOf(server, {}).send("welcome", { body: { code } }));
    await server.shiftTime(0);
    expect(late.code).toBe("NOT_FOUND_ERROR");
  });

  test("that signs in at once makes an operator with the account it names, the same one every time", async () => {
    const { accountId } = await server.createCaller();
    const signIn = async () => {
      const code = await mintCode(server.app.db, { ...setUp, accountId, makesOperator: true, signsIn: true });
      return personOf(server, cookiesOf(await post("/manage/v1/welcome", { code })));
    };
    const [first, second] = [await signIn(), await signIn()];
    expect([first.accountId, second.accountId, second.personId]).toEqual([accountId, accountId, first.personId]);
    expect((await first.client.send("getSession")).person.isOperator).toBe(true);
  });
});

describe("a session", () => {
  test("begins with email and password, and ends for every process when the person signs out", async () => {
    const answer = await post("/manage/auth/sign-in/email", { email: "ada@example.org", password: PASSWORD });
    expect(answer.status).toBe(200);
    const [setCookie = ""] = answer.headers.getSetCookie();
    expect(setCookie).toMatch(/^promptd\.session_token=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/);
    const cookie = setCookie.split(";")[0] ?? "";
    const { client, personId } = await personOf(server, cookie);
    expect(personId).toBe(ada.personId);
    expect((await post("/manage/auth/sign-out", {}, { cookie })).status).toBe(200);
    expect(await problemOf(client.send("getSession"))).toMatchObject({
      code: "UNAUTHORIZED_ERROR",
      data: { reason: "SIGN_IN_REQUIRED" },
    });
  });

  test.each([
    ["https://promptd.example.org", "__Host-promptd.session_token", " Secure;"],
    ["http://192.168.1.5:8787", "promptd.session_token", ""],
  ])("at %s, has a cookie that browsers accept and send only there, and no other", async (origin, name, secure) => {
    const proxied = await startTestServer({ role: "api", environment: { PROMPTD_PUBLIC_URL: origin } });
    onTestFinished(() => proxied.close());
    await createTestPerson(proxied, { email: "ada@example.org" });
    const signIn = { email: "ada@example.org", password: PASSWORD };
    const answer = await postAsPage(proxied, "/manage/auth/sign-in/email", signIn, { origin });
    const [setCookie = ""] = answer.headers.getSetCookie();
    expect(setCookie.replace(/=[^;]+; Max-Age=\d+;/, "=…;")).toBe(`${name}=…; Path=/; HttpOnly;${secure} SameSite=Lax`);
    const cookie = cookiesOf(answer);
    expect((await clientOf(proxied, { cookie }).send("getSession")).person.email).toBe("ada@example.org");
    for (const other of ["promptd", "__Secure-promptd", "__Host-promptd"].filter((one) => !name.startsWith(one))) {
      const planted = clientOf(proxied, { cookie: cookie.replace(/^[^.]+/, other) }).send("getSession");
      expect((await problemOf(planted)).code).toBe("UNAUTHORIZED_ERROR");
    }
  });

  test("is refused with a different signature", async () => {
    const forged = ada.cookie.replace(/.{12}$/, "AAAAAAAAAAA%3D");
    expect((await problemOf(clientOf(server, { cookie: forged }).send("getSession"))).code).toBe("UNAUTHORIZED_ERROR");
  });

  test("shows its person, with the personal account", async () => {
    const session = await ada.client.send("getSession");
    expect(session).toMatchObject({
      credential: "session",
      person: { personId: ada.personId, email: "ada@example.org", isOperator: false },
      accountId: ada.accountId,
      accounts: [{ accountId: ada.accountId, role: "owner", isPersonal: true, hasPlan: false }],
      scopes: null,
      features: { signUp: "invite" },
    });
  });

  test("writes only with the account's header, and never for a page of another origin", async () => {
    const body = { name: "x", scopes: ["runs:read"], expiresInDays: 1 };
    const { cookie, accountId } = ada;
    const statuses = await Promise.all([
      post("/manage/v1/tokens", body, { cookie }),
      post("/manage/v1/tokens", body, { cookie, [ACCOUNT_HEADER]: accountId, origin: "https://evil.example" }),
      post("/manage/v1/tokens", body, { cookie, [ACCOUNT_HEADER]: accountId, origin: "null" }),
      post("/manage/v1/tokens", body, { cookie, [ACCOUNT_HEADER]: accountId }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([400, 400, 400, 200]);
  });

  test.each(["https://evil.example", "null"])("is not begun by a link on a page of %s", async (origin) => {
    const code = await mintCode(server.app.db, { ...setUp, personId: ada.personId, signsIn: true });
    const tried = await post("/manage/v1/welcome", { code }, { origin, "content-type": "text/plain" });
    expect([tried.status, tried.headers.getSetCookie()]).toEqual([400, []]);
    const invited = await post("/manage/v1/invitations/accept", { code: "anything" }, { origin });
    expect([invited.status, ((await invited.json()) as { message: string }).message]).toEqual([
      400,
      expect.stringContaining("another origin"),
    ]);
    expect((await post("/manage/v1/welcome", { code })).status).toBe(200); // the link is still valid
  });

  test("is not begun, ended or taken over by a page of another origin", async () => {
    const { client, cookie } = await createTestPerson(server, { email: "framed@example.org" });
    const change = { currentPassword: PASSWORD, newPassword: "the password of a stranger" };
    const evil = { origin: "https://evil.example" };
    const answers = await Promise.all([
      post("/manage/auth/sign-in/email", { email: "framed@example.org", password: PASSWORD }, evil),
      post("/manage/auth/sign-out", {}, { ...evil, cookie }),
      post("/manage/auth/change-password", change, { ...evil, cookie }),
      post("/manage/auth/change-password", change, { origin: "null", cookie }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(answers.flatMap(({ headers }) => headers.getSetCookie())).toEqual([]);
    expect((await client.send("getSession")).credential).toBe("session");
  });

  test("is new at each sign-in: somebody who planted a cookie in the browser before does not share it", async () => {
    const mallory = await createTestPerson(server);
    const signIn = { email: "ada@example.org", password: PASSWORD };
    const code = await mintCode(server.app.db, { ...setUp, personId: ada.personId, signsIn: true });
    const begun = await Promise.all([
      post("/manage/auth/sign-in/email", signIn, { cookie: mallory.cookie }),
      post("/manage/v1/welcome", { code }, { cookie: mallory.cookie }),
    ]);
    for (const answer of begun) {
      const cookie = cookiesOf(answer);
      expect(cookie).not.toBe(mallory.cookie);
      expect((await personOf(server, cookie)).personId).toBe(ada.personId);
    }
    expect((await mallory.client.send("getSession")).person.personId).toBe(mallory.personId);
  });

  test("ends everywhere when the password changes, except where it was changed", async () => {
    const eve = await createTestPerson(server);
    const code = await mintCode(server.app.db, { ...setUp, personId: eve.personId, signsIn: true });
    const elsewhere = await personOf(server, cookiesOf(await post("/manage/v1/welcome", { code })));
    const change = { currentPassword: PASSWORD, newPassword: "another long password", revokeOtherSessions: false };
    const changed = await post("/manage/auth/change-password", change, { cookie: eve.cookie });
    expect(changed.status).toBe(200);
    for (const { client } of [elsewhere, eve]) {
      expect((await problemOf(client.send("getSession"))).code).toBe("UNAUTHORIZED_ERROR");
    }
    expect((await personOf(server, cookiesOf(changed))).personId).toBe(eve.personId);
  });

  test("cannot act in another person's account: foreign and missing accounts give the same bytes", async () => {
    const { accountId } = await createTestPerson(server);
    const absent = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
    const texts = await Promise.all(
      [accountId, absent].map(async (id) => {
        const problem = await problemOf(clientOf(server, { cookie: ada.cookie }, id).send("getSession"));
        return problem.code + problem.message.replace(id, "<id>");
      }),
    );
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]).toContain("NOT_FOUND_ERROR");
  });

  test("does not let anybody sign up without an invitation", async () => {
    const answer = await post("/manage/auth/sign-up/email", {
      email: "eve@example.org",
      password: PASSWORD,
      name: "Eve",
    });
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: "SIGN_UP_REFUSED" }]);
  });
});

describe("a management token", () => {
  test("is shown once, listed by its display form, and invalid as soon as it is revoked", async () => {
    const { tokenId, token, client } = await ada.token(["runs:read"]);
    expect(await client.send("getSession")).toMatchObject({ credential: "token", scopes: ["runs:read"] });
    const { rows } = await ada.client.send("listTokens");
    const listed = rows.find((row) => row.tokenId === tokenId);
    expect(listed).toMatchObject({ display: `${token.slice(0, 8)}…${token.slice(-4)}`, revokedAt: null });
    expect(listed?.lastUsedAt).not.toBeNull();
    expect(JSON.stringify(rows)).not.toContain(token);
    await ada.client.send("revokeToken", { params: { tokenId } });
    expect((await problemOf(client.send("getSession"))).message).toMatch(/was revoked on/);
  });

  test("expires", async () => {
    const { client } = await ada.token(["runs:read"]);
    await server.shiftTime(86_401);
    const problem = await problemOf(client.send("getSession"));
    await server.shiftTime(0);
    expect(problem.message).toMatch(/has expired/);
  });

  test("creates no tokens, and reads no audit log without the scope and the operator flag", async () => {
    const { client } = await ada.token(["prompts:read"]);
    const create = client.send("createToken", { body: { name: "x", scopes: ["operator"], expiresInDays: 1 } });
    expect((await problemOf(create)).data).toEqual({ reason: "WRONG_CREDENTIAL", expected: ["session"] });
    expect((await problemOf(client.send("listAudit"))).data).toEqual({ reason: "SCOPE_REQUIRED", scope: "operator" });
    const operator = await ada.token(["operator"]);
    const refusal = await problemOf(operator.client.send("listAudit"));
    expect(refusal.data).toEqual({ reason: "ROLE_REQUIRED", role: "operator" });
    expect(refusal.message).toMatch(/^Only an operator of this installation can do this.*Ask an operator\.$/);
  });

  test("of another person does not exist", async () => {
    const { tokenId } = await ada.token(["runs:read"]);
    const eve = await createTestPerson(server);
    expect((await problemOf(eve.client.send("revokeToken", { params: { tokenId } }))).code).toBe("NOT_FOUND_ERROR");
  });

  test("works only under /manage/v1, as an API key works only under /v1, and either response says so", async () => {
    const { apiKey } = await server.createCaller();
    const { token } = await ada.token(["runs:read"]);
    const manage = await problemOf(tokenClient(server, apiKey).send("getSession"));
    expect([manage.message, manage.data]).toEqual([
      expect.stringContaining("API key"),
      { reason: "WRONG_CREDENTIAL", expected: ["token", "session"] },
    ]);
    const calls = await problemOf(server.clientOf(token).me.get());
    expect([calls.code, calls.message]).toEqual(["UNAUTHORIZED_ERROR", expect.stringContaining("management token")]);
  });
});

test("every write leaves a row in the audit log, even if refused, and operators read it", async () => {
  const operator = await createTestPerson(server, { isOperator: true });
  const { tokenId } = await ada.token(["runs:read"]);
  await problemOf(ada.client.send("revokeToken", { params: { tokenId: ada.accountId } }));
  const { rows } = await operator.client.send("listAudit", { query: { personId: ada.personId, limit: 2 } });
  expect(rows).toMatchObject([
    { action: "revokeToken", subject: ada.accountId, outcome: "NOT_FOUND_ERROR", actor: "session" },
    { action: "createToken", subject: tokenId, outcome: "SUCCESS", accountId: ada.accountId, email: "ada@example.org" },
  ]);
  await fetch(`${server.url}/manage/v1/tokens/a%00b`, {
    method: "DELETE",
    headers: { cookie: ada.cookie, [ACCOUNT_HEADER]: ada.accountId },
  });
  const latest = await operator.client.send("listAudit", { query: { personId: ada.personId, limit: 1 } });
  expect(latest.rows).toMatchObject([{ action: "revokeToken", subject: "a\uFFFDb", outcome: "VALIDATION_ERROR" }]);
  const [entry] = await server.app.db.query<{ n: number }>("select count(*)::int as n from audit_entries");
  expect(entry?.n).toBeGreaterThan(2);
});

test("sign-ins, wrong passwords, and sign-outs leave rows in the audit log, and can be found by their content", async () => {
  const operator = await createTestPerson(server, { isOperator: true });
  const eve = await createTestPerson(server, { email: "eve-of-log@example.org" });
  await server.app.db.query("delete from auth_rate_limits"); // from the previous tests
  const answer = await post("/manage/auth/sign-in/email", { email: "Eve-of-log@example.org", password: PASSWORD });
  const cookie = cookiesOf(answer);
  const current = { currentPassword: "wrong password", newPassword: "another long password" };
  expect((await post("/manage/auth/change-password", current, { cookie })).status).toBe(400);
  expect((await post("/manage/auth/revoke-other-sessions", {}, { cookie })).status).toBe(200);
  expect((await post("/manage/auth/sign-out", {}, { cookie })).status).toBe(200);
  expect((await post("/manage/auth/sign-out", {}, { cookie })).status).toBe(200); // without a session
  const wrong = { email: "eve-of-log@example.org", password: "wrong password" };
  expect((await post("/manage/auth/sign-in/email", wrong)).status).toBe(401);
  const unknown = { email: "unknown-of-log@example.org", password: "wrong password" };
  expect((await post("/manage/auth/sign-in/email", unknown)).status).toBe(401);
  const found = async (query: Parameters<typeof listAudit>[1]) =>
    (await listAudit(operator, query)).map(({ action, actor, outcome }) => [action, actor, outcome]);
  const signIns = [
    ["signIn", "none", "UNAUTHORIZED_ERROR"],
    ["signOut", "session", "SUCCESS"],
    ["endOtherSessions", "session", "SUCCESS"],
    ["changePassword", "session", "VALIDATION_ERROR"],
    ["signIn", "none", "SUCCESS"],
    ["welcome", "none", "SUCCESS"],
  ];
  await expect.poll(() => found({ personId: eve.personId })).toEqual(signIns);
  expect(await found({ q: "Sign", personId: eve.personId })).toEqual([signIns[0], signIns[1], signIns[4]]);
  expect(await found({ q: "eve-of-LOG" })).toEqual(signIns);
  await operator.client.send("createSignInLink", { params: { personId: eve.personId } });
  expect((await found({ q: "eve-of-log" }))[0]?.[0]).toBe("createSignInLink");
  expect((await found({ q: "sign in link" }))[0]?.[0]).toBe("createSignInLink");
  expect(await found({ q: "unknown-of-log" })).toEqual([]);
});

test("an opened link leaves no row in the audit log until it is used, and the log can be shown without reads", async () => {
  const operator = await createTestPerson(server, { isOperator: true });
  const { link } = await operator.client.send("invitePerson", { body: { email: "opens@example.org" } });
  const body = { code: link?.split("#")[1] ?? "" };
  await clientOf(server, {}).send("acceptInvitation", { body });
  const accepted = await clientOf(server, {}).send("acceptInvitation", {
    body: { ...body, name: "Opens", password: PASSWORD },
  });
  if (accepted.kind !== "signed_in") throw new Error("The invitation was not accepted.");
  const rows = await listAudit(operator, { action: "acceptInvitation" });
  expect(rows.map(({ personId, email }) => [personId, email])).toEqual([[accepted.personId, "opens@example.org"]]);
  await operator.client.send("getAccount", { params: { accountId: ada.accountId } });
  const actions = async (reads: "with" | "without") =>
    (await listAudit(operator, { reads, personId: operator.personId })).map(({ action }) => action);
  expect(await actions("with")).toEqual(["getAccount", "invitePerson", "welcome"]);
  expect(await actions("without")).toEqual(["invitePerson", "welcome"]);
});

test("sessions are listed with their origin, ended by ID only by their own person, and no response contains a token", async () => {
  const lin = await createTestPerson(server, { email: "lin-of-sessions@example.org" });
  await server.app.db.query("delete from auth_rate_limits"); // from the previous tests
  const signIn = await post("/manage/auth/sign-in/email", { email: "lin-of-sessions@example.org", password: PASSWORD });
  const cookie = cookiesOf(signIn);
  const stored = await server.app.db.query<{ token: string }>("select token from auth_sessions");
  const texts = [await signIn.text()];
  for (const path of ["get-session", "list-sessions", "list-accounts"])
    texts.push(await (await fetch(`${server.url}/manage/auth/${path}`, { headers: { cookie } })).text());
  const { rows } = await lin.client.send("listSessions");
  texts.push(JSON.stringify(rows));
  for (const { token } of stored) expect(texts.join()).not.toContain(token);
  expect(texts.join()).not.toContain('"token"');
  // The first session began with a link.
  expect(rows.map(({ isThis, address }) => [isThis, address])).toEqual([
    [false, "127.0.0.1"],
    [true, "127.0.0.1"],
  ]);
  const params = { sessionId: rows[0]?.sessionId ?? "" };
  expect((await problemOf(ada.client.send("endSession", { params }))).code).toBe("NOT_FOUND_ERROR");
  expect(await lin.client.send("endSession", { params })).toEqual(params);
  expect((await problemOf(clientOf(server, { cookie }).send("getSession"))).code).toBe("UNAUTHORIZED_ERROR");
  const byToken = { token: stored[0]?.token };
  expect((await post("/manage/auth/revoke-session", byToken, { cookie: lin.cookie })).status).toBe(404);
});

test("a session in use is extended: after a day it is valid for thirty more, in the browser too", async () => {
  const { cookie, personId } = await createTestPerson(server);
  const days = async () => {
    const text = `select extract(epoch from expires_at - now()) / 86400 as days from auth_sessions where user_id = $1`;
    return Number((await server.app.db.query<{ days: string }>(text, [personId]))[0]?.days);
  };
  const ask = () => fetch(`${server.url}/manage/auth/get-session`, { headers: { cookie } });
  expect((await ask()).headers.getSetCookie().join()).not.toContain("session_token");
  await server.app.db.query("update auth_sessions set expires_at = now() + interval '20 days' where user_id = $1", [
    personId,
  ]);
  const renewed = (await ask()).headers.getSetCookie().find((each) => each.includes("session_token"));
  expect(renewed).toContain("Max-Age=2592000");
  expect(await days()).toBeGreaterThan(29.9);
});
