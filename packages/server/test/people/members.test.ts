/** Members and invitations of an account, and what operators do with people and accounts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { peopleActions } from "../../src/operator/people-actions.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { until } from "../support/promptd-process.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { clientOf, createTestPerson, PASSWORD, personOf, type TestPerson } from "./people-fixture.ts";
import { codeIn, codeOf, cookiesOf, postAsPage } from "./page-requests.ts";

let server: TestServer;
let ada: TestPerson;
/** Hers and her account's. */
let nameOfAda: string;
let operator: TestPerson;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SIGN_UP_CREDITS: "7", PROMPTD_PROXIES: "1" } });
  ada = await createTestPerson(server, { email: "ada@example.org" });
  nameOfAda = (await ada.client.send("getSession")).person.name;
  operator = await createTestPerson(server, { isOperator: true });
});
afterAll(() => server.close());

describe("an invitation", () => {
  test("admits a new person once, as a member who also has their own account", async () => {
    const { link, invitationId } = await ada.client.send("createInvitation", {
      body: { email: "Grace@Example.org", role: "member" },
    });
    const code = codeIn(link);
    const anybody = clientOf(server, {});
    expect(await anybody.send("acceptInvitation", { body: { code } })).toEqual({
      kind: "set_up",
      email: "grace@example.org",
      account: nameOfAda,
      invitedBy: nameOfAda,
    });
    const body = { code, name: "Grace", password: PASSWORD };
    const accepted = await anybody.call("acceptInvitation", { body });
    expect(accepted.data).toMatchObject({ kind: "signed_in", accountId: ada.accountId });
    const grace = clientOf(server, { cookie: cookiesOf(accepted) });
    const { accounts } = await grace.send("getSession");
    expect(accounts.map(({ role, isPersonal }) => [role, isPersonal])).toEqual([
      ["owner", true],
      ["member", false],
    ]);
    expect((await grace.send("getCredits")).available).toBe(7);
    expect(await codeOf(anybody.send("acceptInvitation", { body }))).toBe("NOT_FOUND_ERROR");
    const { rows } = await ada.client.send("listInvitations");
    expect(rows.find((row) => row.invitationId === invitationId)?.acceptedAt).not.toBeNull();
    expect(JSON.stringify(rows)).not.toContain(code);
  });

  test("for an existing person leads to a sign-in, and joins only that person", async () => {
    const eve = await createTestPerson(server, { email: "eve@example.org" });
    const bob = await createTestPerson(server, { email: "bob@example.org" });
    const { link } = await ada.client.send("createInvitation", { body: { email: "bob@example.org", role: "owner" } });
    const code = codeIn(link);
    const open = await clientOf(server, {}).send("acceptInvitation", { body: { code, name: "x", password: PASSWORD } });
    expect(open).toEqual({ kind: "sign_in", email: "bob@example.org", account: nameOfAda, invitedBy: nameOfAda });
    expect(await codeOf(eve.client.send("joinAccount", { body: { code } }))).toBe("VALIDATION_ERROR");
    expect(await bob.client.send("joinAccount", { body: { code } })).toEqual({ accountId: ada.accountId });
    const { accounts } = await bob.client.send("getSession");
    expect(accounts.map(({ accountId }) => accountId)).toContain(ada.accountId);
  });

  test("accepted several times at once admits one person, and sends the others to the sign-in page", async () => {
    const { link } = await ada.client.send("createInvitation", {
      body: { email: "twice@example.org", role: "member" },
    });
    const body = { code: codeIn(link), name: "Twice", password: PASSWORD };
    const { db } = server.app;
    const sent = await db.tx(async (tx) => {
      await tx.query("lock table auth_users in share mode"); // all of them find nobody, and wait to write
      const answers = Array.from({ length: 4 }, () => clientOf(server, {}).send("acceptInvitation", { body }));
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await until(async () => (await db.query(waits)).length >= answers.length);
      return { answers };
    });
    const kinds = (await Promise.all(sent.answers)).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["sign_in", "sign_in", "sign_in", "signed_in"]);
  });

  test("for a member as an owner makes them an owner, and as a member takes nothing away", async () => {
    const person = await createTestPerson(server, { email: "rises@example.org" });
    const join = async (role: "member" | "owner") => {
      const { link } = await ada.client.send("createInvitation", { body: { email: "rises@example.org", role } });
      await person.client.send("joinAccount", { body: { code: codeIn(link) } });
      const { rows } = await ada.client.send("listMembers");
      return rows.find(({ personId }) => personId === person.personId)?.role;
    };
    expect([await join("member"), await join("owner"), await join("member")]).toEqual(["member", "owner", "owner"]);
    await ada.client.send("removeMember", { params: { personId: person.personId } });
  });

  test("is refused to an account that has sent 50 in a week", async () => {
    const person = await createTestPerson(server);
    const insert = `insert into invitations (id, account_id, email, role, code_hash, invited_by, expires_at)
      select gen_random_uuid(), $1::uuid, n || '@example.org', 'member', sha256(($1::text || n)::bytea), $2::uuid, promptd_now() + interval '7 days'
      from generate_series(1, 50) n`;
    await server.app.db.query(insert, [person.accountId, person.personId]);
    const body = { email: "more@example.org", role: "member" } as const;
    expect(await codeOf(person.client.send("createInvitation", { body }))).toBe("VALIDATION_ERROR");
  });

  test("to the same address again ends the earlier one, but only to that account or installation", async () => {
    const email = "again@example.org";
    const make = () => ada.client.send("createInvitation", { body: { email, role: "member" } });
    const toInstallation = () => operator.client.send("invitePerson", { body: { email } });
    const [first, second] = [await make(), await make()];
    const [third, fourth] = [await toInstallation(), await toInstallation()];
    const accept = ({ link }: { link: string | null }) =>
      codeOf(clientOf(server, {}).send("acceptInvitation", { body: { code: codeIn(link) } }));
    const answers = [await accept(first), await accept(second), await accept(third), await accept(fourth)];
    expect(answers).toEqual(["NOT_FOUND_ERROR", "SUCCESS", "NOT_FOUND_ERROR", "SUCCESS"]);
  });

  test("to the installation is shown to operators until it is accepted or revoked", async () => {
    const open = async () => {
      const { rows } = await operator.client.send("listPersonInvitations", { query: { q: "Seen-" } });
      return rows.map((row) => row.email);
    };
    const inviteOne = (email: string) => operator.client.send("invitePerson", { body: { email } });
    const [one, two] = [await inviteOne("seen-1@example.org"), await inviteOne("seen-2@example.org")];
    expect(await open()).toEqual(["seen-2@example.org", "seen-1@example.org"]);
    const body = { code: codeIn(one.link), name: "Seen", password: PASSWORD };
    expect(await codeOf(clientOf(server, {}).send("acceptInvitation", { body }))).toBe("SUCCESS");
    expect(await open()).toEqual(["seen-2@example.org"]);
    const params = { invitationId: two.invitationId };
    expect((await operator.client.send("revokePersonInvitation", { params })).revokedAt).not.toBeNull();
    expect(await open()).toEqual([]);
    const ofAccount = await ada.client.send("createInvitation", { body: { email: "x@example.org", role: "member" } });
    const foreign = operator.client.send("revokePersonInvitation", {
      params: { invitationId: ofAccount.invitationId },
    });
    expect(await codeOf(foreign)).toBe("NOT_FOUND_ERROR");
  });

  test("by an operator gives the new account its plan and credits, once, instead of the default ones", async () => {
    const email = "terms@example.org";
    const terms = { plan: "pro", credits: 500 } as const;
    const { link, ...made } = await operator.client.send("invitePerson", { body: { email, ...terms } });
    expect(made).toMatchObject(terms);
    const code = codeIn(link);
    const body = { code, name: "Terms", password: PASSWORD };
    const accepted = await clientOf(server, {}).call("acceptInvitation", { body });
    const person = await personOf(server, cookiesOf(accepted));
    const before = await person.client.send("listJournal");
    expect(before.rows.map(({ kind, amount, reason }) => [kind, amount, reason])).toEqual([
      ["grant", 500, "given with the invitation"],
    ]);
    expect((await person.client.send("getSession")).accounts[0]?.hasPlan).toBe(true);
    expect(await codeOf(person.client.send("joinAccount", { body: { code } }))).toBe("NOT_FOUND_ERROR");
    for (const more of [{ credits: 30, plan: "none" } as const, {}]) {
      const { link: other } = await operator.client.send("invitePerson", { body: { email, ...more } });
      await person.client.send("joinAccount", { body: { code: codeIn(other) } });
    }
    expect((await person.client.send("getCredits")).posted).toBe(530);
    expect((await person.client.send("getSession")).accounts[0]?.hasPlan).toBe(true);
    const log = await operator.client.send("listAudit", { query: { q: email } });
    const actions = new Set(log.rows.map(({ action }) => action));
    expect([...actions].sort()).toEqual(["acceptInvitation", "invitePerson", "joinAccount"]);
    expect((await server.checkLedger()).mismatches).toEqual([]);
  });

  test("is no longer valid once it is revoked or a week old", async () => {
    const make = () => ada.client.send("createInvitation", { body: { email: "late@example.org", role: "member" } });
    const [revoked, old] = [await make(), await make()];
    await ada.client.send("revokeInvitation", { params: { invitationId: revoked.invitationId } });
    const accept = ({ link }: { link: string | null }) =>
      codeOf(clientOf(server, {}).send("acceptInvitation", { body: { code: codeIn(link) } }));
    expect(await accept(revoked)).toBe("NOT_FOUND_ERROR");
    expect(await accept(old)).toBe("SUCCESS");
    await server.shiftTime(7 * 86_400 + 1);
    const late = await accept(old);
    await server.shiftTime(0);
    expect(late).toBe("NOT_FOUND_ERROR");
  });
});

describe("a member", () => {
  test("who is removed loses access with the next request, including every token for the account", async () => {
    const person = await createTestPerson(server, { email: "short@example.org" });
    const { link } = await ada.client.send("createInvitation", {
      body: { email: "short@example.org", role: "member" },
    });
    await person.client.send("joinAccount", { body: { code: codeIn(link) } });
    const there = clientOf(server, { cookie: person.cookie }, ada.accountId);
    const { token } = await there.send("createToken", { body: { name: "t", scopes: ["runs:read"], expiresInDays: 1 } });
    const byToken = clientOf(server, { authorization: `Bearer ${token}` });
    expect([await codeOf(there.send("listRuns")), await codeOf(byToken.send("listRuns"))]).toEqual([
      "SUCCESS",
      "SUCCESS",
    ]);
    await ada.client.send("removeMember", { params: { personId: person.personId } });
    expect(await codeOf(there.send("listRuns"))).toBe("NOT_FOUND_ERROR");
    expect(await codeOf(byToken.send("listRuns"))).toBe("UNAUTHORIZED_ERROR");
    const again = "insert into account_members (account_id, person_id, role) values ($1, $2, 'owner')";
    await server.app.db.query(again, [ada.accountId, person.personId]);
    expect(await codeOf(there.send("listRuns"))).toBe("SUCCESS");
    await expect(byToken.send("listRuns")).rejects.toThrow(/was revoked/);
    await server.app.db.query("delete from account_members where person_id = $1 and account_id = $2", [
      person.personId,
      ada.accountId,
    ]);
  });

  test("who is not an owner can leave on their own, immediately, but not their personal account", async () => {
    const person = await createTestPerson(server, { email: "leaves@example.org" });
    const { link } = await ada.client.send("createInvitation", {
      body: { email: "leaves@example.org", role: "member" },
    });
    await person.client.send("joinAccount", { body: { code: codeIn(link) } });
    const there = clientOf(server, { cookie: person.cookie }, ada.accountId);
    expect(await there.send("leaveAccount")).toMatchObject({ personId: person.personId, role: "member" });
    expect(await codeOf(there.send("listRuns"))).toBe("NOT_FOUND_ERROR");
    expect(await codeOf(person.client.send("leaveAccount"))).toBe("VALIDATION_ERROR");
    expect((await person.client.send("getSession")).accounts).toHaveLength(1);
  });

  test("who is the last owner, or whose personal account it is, cannot leave", async () => {
    const solo = await createTestPerson(server);
    const params = { personId: solo.personId };
    expect(await codeOf(solo.client.send("updateMember", { params, body: { role: "member" } }))).toBe(
      "VALIDATION_ERROR",
    );
    expect(await codeOf(solo.client.send("removeMember", { params }))).toBe("VALIDATION_ERROR");
    const { rows } = await solo.client.send("listMembers");
    expect(rows.map(({ role }) => role)).toEqual(["owner"]);
  });
});

test("the last owner of an account that is nobody's personal account cannot be removed", async () => {
  const shared = await createTestPerson(server);
  const person = await createTestPerson(server, { email: "sole@example.org" });
  const { link } = await shared.client.send("createInvitation", { body: { email: "sole@example.org", role: "owner" } });
  await person.client.send("joinAccount", { body: { code: codeIn(link) } });
  await server.app.db.query("delete from account_members where account_id = $1 and is_personal", [shared.accountId]);
  const there = clientOf(server, { cookie: person.cookie }, shared.accountId);
  const removing = there.send("removeMember", { params: { personId: person.personId } });
  expect(await codeOf(removing)).toBe("VALIDATION_ERROR");
  expect((await there.send("listMembers")).rows.map(({ personId }) => personId)).toEqual([person.personId]);
});

describe("an operator", () => {
  test("who is the only one stays an operator, and signed in", async () => {
    const others = (await operator.client.send("listPeople", { query: { limit: 50 } })).rows.filter(
      (person) => person.isOperator && person.personId !== operator.personId,
    );
    expect(others).toEqual([]);
    const params = { personId: operator.personId };
    for (const body of [{ isOperator: false }, { isFrozen: true }]) {
      expect(await codeOf(operator.client.send("updatePerson", { params, body }))).toBe("VALIDATION_ERROR");
    }
    const second = await createTestPerson(server);
    const ofSecond = { personId: second.personId };
    await operator.client.send("updatePerson", { params: ofSecond, body: { isOperator: true } });
    await operator.client.send("updatePerson", { params, body: { isOperator: false } });
    expect(await codeOf(operator.client.send("listPeople"))).not.toBe("SUCCESS");
    await second.client.send("updatePerson", { params, body: { isOperator: true } });
    await operator.client.send("updatePerson", { params: ofSecond, body: { isOperator: false } });
  });

  test("freezes a person, who can do nothing from then on, by session or token, until unfrozen", async () => {
    const person = await createTestPerson(server, { email: "frozen@example.org" });
    const token = await person.token(["runs:read"]);
    const params = { personId: person.personId };
    const codes = async () => [
      await codeOf(person.client.send("getSession")),
      await codeOf(token.client.send("getSession")),
    ];
    await operator.client.send("updatePerson", { params, body: { isFrozen: true } });
    expect(await codes()).toEqual(["UNAUTHORIZED_ERROR", "UNAUTHORIZED_ERROR"]);
    await operator.client.send("updatePerson", { params, body: { isFrozen: false } });
    expect(await codes()).toEqual(["SUCCESS", "SUCCESS"]);
  });

  test("freezes a person, who can change nothing about themselves, but can sign out", async () => {
    const { personId, cookie } = await createTestPerson(server);
    const ask = async (path: string, body: object) => {
      const response = await postAsPage(server, `/manage/auth/${path}`, body, { cookie });
      return [response.status, ((await response.json()) as { code?: string }).code];
    };
    const everything = () =>
      Promise.all([
        ask("update-user", { name: "Frozen" }),
        ask("change-password", { currentPassword: PASSWORD, newPassword: `${PASSWORD}, changed` }),
        ask("two-factor/enable", { password: PASSWORD }),
        ask("revoke-other-sessions", {}),
      ]);
    await operator.client.send("updatePerson", { params: { personId }, body: { isFrozen: true } });
    expect(await everything()).toEqual(Array.from({ length: 4 }, () => [401, "FROZEN"]));
    expect(await ask("sign-out", {})).toEqual([200, undefined]);
    expect(await server.app.db.query("select name from auth_users where id = $1", [personId])).not.toEqual([
      { name: "Frozen" },
    ]);
  });

  test("cannot sign in a frozen person by a link, but a link that makes an operator unfreezes them", async () => {
    const email = "locked-out@example.org";
    const person = await createTestPerson(server, { email });
    const params = { personId: person.personId };
    await operator.client.send("updatePerson", { params, body: { isFrozen: true } });
    await expect(operator.client.send("createSignInLink", { params })).rejects.toThrow("access is frozen. Unfreeze it");
    const config = readConfig({ DATABASE_URL: server.databaseUrl });
    const actions = peopleActions({ db: server.app.db, config });
    await expect(actions.signInLink(email, { makesOperator: false })).rejects.toThrow(
      `An operator froze the access of ${email}, so no link signs them in. Unfreeze it under Operator, People; or add --operator, which unfreezes it and makes them an operator.`,
    );
    const { link } = await actions.signInLink(email, { makesOperator: true });
    expect(await codeOf(person.client.send("getSession"))).toBe("UNAUTHORIZED_ERROR");
    await clientOf(server, {}).send("welcome", { body: { code: codeIn(link), password: PASSWORD } });
    const { rows } = await operator.client.send("listPeople", { query: { q: email } });
    expect(rows).toMatchObject([{ isOperator: true, isFrozen: false }]);
    await operator.client.send("updatePerson", { params, body: { isOperator: false } });
  });

  test("gives a person another address for sign-in and as their personal account's name, unless it is taken", async () => {
    const person = await createTestPerson(server, { email: "before@example.org" });
    const params = { personId: person.personId };
    const change = (email: string) => operator.client.send("updatePerson", { params, body: { email } });
    const other = await server.createCaller();
    const findEmail = "select email from accounts where id = $1";
    const taken = await server.app.db.query<{ email: string }>(findEmail, [other.accountId]);
    expect(await codeOf(change("ADA@example.org"))).toBe("VALIDATION_ERROR");
    expect(await codeOf(change(taken[0]?.email ?? ""))).toBe("VALIDATION_ERROR");
    expect(await change("After@example.org")).toMatchObject({ email: "after@example.org" });
    const signIn = async (email: string) => {
      const headers = { "x-forwarded-for": `10.1.1.${email.length}` };
      return (await postAsPage(server, "/manage/auth/sign-in/email", { email, password: PASSWORD }, headers)).status;
    };
    expect([await signIn("after@example.org"), await signIn("before@example.org")]).toEqual([200, 401]);
    const { rows } = await operator.client.send("listAccounts", { query: { q: "after@" } });
    expect(rows.map(({ accountId }) => accountId)).toEqual([person.accountId]);
    expect((await person.client.send("getSession")).person.email).toBe("after@example.org");
  });

  test("finds people and accounts by part of their address, and sets a plan", async () => {
    const people = await operator.client.send("listPeople", { query: { q: "ADA@" } });
    expect(people.rows.map(({ personId }) => personId)).toEqual([ada.personId]);
    const accounts = await operator.client.send("listAccounts", { query: { q: "ada@" } });
    expect(accounts.rows).toMatchObject([{ accountId: ada.accountId, plan: "none", planUntil: null }]);
    const body = { plan: "pro" as const, until: "2036-01-01T00:00:00Z" };
    const changed = await operator.client.send("setPlan", { params: { accountId: ada.accountId }, body });
    expect(changed).toMatchObject({ plan: "pro", planUntil: "2036-01-01T00:00:00.000Z" });
  });

  test("freezes an account's credits and unfreezes them", async () => {
    const freeze = (isFrozen: boolean) =>
      operator.client.send("freezeAccount", {
        params: { accountId: ada.accountId },
        body: { isFrozen, reason: "refund in dispute" },
      });
    expect(await freeze(true)).toEqual({ accountId: ada.accountId, isFrozen: true });
    expect((await ada.client.send("getCredits")).frozen).toMatchObject({ reason: "refund in dispute" });
    expect(await freeze(false)).toEqual({ accountId: ada.accountId, isFrozen: false });
    expect((await ada.client.send("getCredits")).frozen).toBeNull();
  });

  test("sees who requests a new password when no mail is sent, until they have a link or are signed in", async () => {
    const person = await createTestPerson(server, { email: "asking@example.org" });
    let sent = 0;
    const post = (path: string, body: unknown) => {
      sent += 1;
      return postAsPage(server, `/manage/auth/${path}`, body, { "x-forwarded-for": `192.0.2.${100 + sent}` });
    };
    const asked = async () => (await operator.client.send("getSystem")).askedLinks.map(({ email }) => email);
    const ask = async () => {
      await post("request-password-reset", { email: "Nobody@example.org" });
      expect(await (await post("request-password-reset", { email: "Asking@example.org" })).json()).toMatchObject({
        message: expect.stringContaining("operators can see"),
      });
      await expect.poll(asked).toEqual(["asking@example.org"]);
    };
    await ask();
    const [row] = (await operator.client.send("listPeople", { query: { q: "asking@" } })).rows;
    expect(row?.linkAskedAt).not.toBeNull();
    await operator.client.send("createSignInLink", { params: { personId: person.personId } });
    expect(await asked()).toEqual([]);
    await ask();
    expect((await post("sign-in/email", { email: "asking@example.org", password: PASSWORD })).status).toBe(200);
    expect(await asked()).toEqual([]);
  });

  test("signs a person out of every browser, who may sign in again", async () => {
    const person = await createTestPerson(server, { email: "leaves-all@example.org" });
    const token = await person.token(["runs:read"]);
    const { personId } = person;
    expect(await operator.client.send("signOutPerson", { params: { personId } })).toEqual({ personId, sessions: 1 });
    expect(await codeOf(person.client.send("getSession"))).toBe("UNAUTHORIZED_ERROR");
    expect(await codeOf(token.client.send("getSession"))).toBe("SUCCESS");
    expect(await codeOf(operator.client.send("signOutPerson", { params: { personId: ada.accountId } }))).toBe(
      "NOT_FOUND_ERROR",
    );
  });

  test("gives a person a link to set a new password, which ends their existing sessions", async () => {
    const person = await createTestPerson(server, { email: "forgot@example.org" });
    const { link } = await operator.client.send("createSignInLink", { params: { personId: person.personId } });
    const code = codeIn(link);
    const anybody = clientOf(server, {});
    expect(await anybody.send("welcome", { body: { code } })).toEqual({ kind: "set_up", email: "forgot@example.org" });
    const password = "another long password";
    expect(await anybody.send("welcome", { body: { code, password } })).toMatchObject({ personId: person.personId });
    expect(await codeOf(person.client.send("getSession"))).toBe("UNAUTHORIZED_ERROR");
    const signIn = await postAsPage(server, "/manage/auth/sign-in/email", { email: "forgot@example.org", password });
    expect(signIn.status).toBe(200);
  });
});

test("behind a proxy, sign-ins are limited by the address that the proxy saw, and the audit log names it", async () => {
  const signIn = async (forwarded: string) => {
    const guess = { email: "ada@example.org", password: "wrong password" };
    return (await postAsPage(server, "/manage/auth/sign-in/email", guess, { "x-forwarded-for": forwarded })).status;
  };
  const guesses: number[] = [];
  for (const made of ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]) guesses.push(await signIn(`${made}, 192.0.2.7`));
  expect(guesses).toEqual([401, 401, 401, 429]);
  expect(await signIn("192.0.2.7, 192.0.2.8")).toBe(401);
  await fetch(`${server.url}/manage/v1/invitations`, {
    method: "POST",
    headers: { cookie: ada.cookie, "promptd-account": ada.accountId, "x-forwarded-for": "192.0.2.9" },
  });
  // No response waits for the row of a refused sign-in, which may come last.
  const { rows } = await operator.client.send("listAudit", { query: { personId: ada.personId, limit: 10 } });
  expect(rows.map(({ address }) => address)).toContain("192.0.2.9");
});
