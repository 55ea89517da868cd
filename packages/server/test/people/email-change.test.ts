/**
 * Changing one's own email address: the new one confirms it, the old one is notified, and nobody takes over anybody.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { startServerWithMail, type ServerWithMail, type TestMailServer } from "./mail-fixture.ts";
import { clientOf, createTestPerson, PASSWORD, type TestPerson } from "./people-fixture.ts";
import { postAsPage } from "./page-requests.ts";

let mail: TestMailServer;
let server: TestServer;
let post: ServerWithMail["post"];
let close: ServerWithMail["close"];
beforeAll(async () => {
  ({ mail, server, post, close } = await startServerWithMail());
});
afterAll(() => close());

const signIn = async (email: string, password = PASSWORD) => (await post("/sign-in/email", { email, password })).status;
const request = ({ client }: TestPerson, email: string, password: string | undefined = PASSWORD) =>
  client.send("requestEmailChange", { body: { email, ...(password === undefined ? {} : { password }) } });
const confirm = (code: string) => clientOf(server, {}).send("confirmEmailChange", { body: { code } });
const codeIn = ({ link }: { readonly link: string }) => link.split("#")[1] ?? "";

test("the link sent to the new address makes it the sign-in address, once; sessions continue, and the old address is notified", async () => {
  const ada = await createTestPerson(server, { email: "ada@example.org" });
  expect(await request(ada, "Ada@example.com")).toMatchObject({ personId: ada.personId, email: "ada@example.com" });
  const received = await mail.waitFor("ada@example.com");
  expect(received.link).toMatch(new RegExp(`^${server.url}/new-address#`));
  const code = codeIn(received);
  const text = "select count(*)::int as n from auth_verifications where position($1 in identifier || value) > 0";
  expect(await server.app.db.query(text, [code])).toEqual([{ n: 0 }]);
  expect([await signIn("ada@example.org"), await signIn("ada@example.com")]).toEqual([200, 401]);

  expect(await confirm(code)).toEqual({ personId: ada.personId, email: "ada@example.com" });
  expect([await signIn("ada@example.org"), await signIn("ada@example.com")]).toEqual([401, 200]);
  expect((await mail.waitFor("ada@example.org")).raw).toContain("ada@example.com");
  const session = await ada.client.send("getSession");
  expect([session.person.email, session.accounts[0]?.email]).toEqual(["ada@example.com", "ada@example.com"]);
  const confirmed = "select email_verified as v from auth_users where id = $1";
  expect(await server.app.db.query(confirmed, [ada.personId])).toEqual([{ v: true }]);
  await expect(confirm(code)).rejects.toMatchObject({ code: "NOT_FOUND_ERROR" });

  const operator = await createTestPerson(server, { isOperator: true });
  const { rows } = await operator.client.send("listAudit", { query: { limit: 10 } });
  const acts = rows.filter(({ subject }) => subject === ada.personId).map(({ action, outcome }) => [action, outcome]);
  expect(acts).toEqual(
    expect.arrayContaining([
      ["requestEmailChange", "SUCCESS"],
      ["confirmEmailChange", "SUCCESS"],
    ]),
  );
});

test("a person's password is required, and ten requests per hour are accepted", async () => {
  const eve = await createTestPerson(server);
  await expect(request(eve, "eve@example.com", "not the password")).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  await expect(eve.client.send("requestEmailChange", { body: { email: "eve@example.com" } })).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
  });
  for (let attempt = 2; attempt < 10; attempt += 1) {
    await expect(request(eve, "eve@example.com", `guess number ${attempt}`)).rejects.toThrow(/not your password/);
  }
  await expect(request(eve, "eve@example.com")).rejects.toThrow(/at most 10 address changes per hour/);
  expect(mail.received.some(({ to }) => to.includes("eve@example.com"))).toBe(false);
});

test("a person without a password must have signed in within the last hour", async () => {
  const { client, personId } = await createTestPerson(server);
  const ask = (email: string) => client.send("requestEmailChange", { body: { email } });
  const { db } = server.app;
  await db.query("delete from auth_logins where user_id = $1", [personId]);
  expect(await ask("recent@example.com")).toMatchObject({ email: "recent@example.com" });
  const old = "update auth_sessions set created_at = created_at - interval '61 minutes' where user_id = $1";
  await db.query(old, [personId]);
  await expect(ask("finder@example.com")).rejects.toThrow(/more than an hour ago/);
  expect(mail.received.some(({ to }) => to.includes("finder@example.com"))).toBe(false);
});

test("an address that is taken gets the same response as a free one, and only its mailbox learns why nothing happens", async () => {
  const [lin, grace] = await Promise.all([
    createTestPerson(server, { email: "lin@example.org" }),
    createTestPerson(server, { email: "grace@example.org" }),
  ]);
  const keys = async (email: string) => Object.keys(await request(lin, email));
  expect(await keys("grace@example.org")).toEqual(await keys("free@example.org"));
  const { raw, link } = await mail.waitFor("grace@example.org");
  expect([raw.includes("already in use"), link]).toEqual([true, ""]);
  // Somebody takes the free address before the link is opened.
  await request(grace, "free@example.org");
  const codes = [codeIn(await mail.waitFor("free@example.org")), codeIn(await mail.waitFor("free@example.org", 2))];
  const ends = await Promise.allSettled(codes.map(confirm));
  expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

test("a link stops working once the password changes: somebody else may have requested it", async () => {
  const owner = await createTestPerson(server, { email: "owner@example.org" });
  await request(owner, "thief@example.com");
  const code = codeIn(await mail.waitFor("thief@example.com"));
  const change = { currentPassword: PASSWORD, newPassword: "another long enough password" };
  const answer = await postAsPage(server, "/manage/auth/change-password", change, { cookie: owner.cookie });
  expect(answer.status).toBe(200);
  await expect(confirm(code)).rejects.toMatchObject({ code: "NOT_FOUND_ERROR" });
  expect(await signIn("owner@example.org", "another long enough password")).toBe(200);
});

test("without mail the response says who can change the address", async () => {
  const quiet = await startTestServer();
  try {
    const person = await createTestPerson(quiet);
    await expect(request(person, "other@example.com")).rejects.toThrow(/does not send email.*Ask an operator/);
  } finally {
    await quiet.close();
  }
});
