/** Passkeys: created, used, and removed by a software authenticator that follows the standard. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { relyingPartyOf } from "../../src/people/sign-in/relying-party.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { createAuthenticator, type PageOf, type TestAuthenticator } from "./authenticator-fixture.ts";
import { clientOf, createTestPerson, PASSWORD, type TestPerson } from "./people-fixture.ts";
import { codeOf, cookiesOf } from "./page-requests.ts";

let server: TestServer;
let ada: TestPerson;
const warnings: string[] = [];
const noteWarning = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
beforeAll(async () => {
  process.on("warning", noteWarning);
  server = await startTestServer();
  ada = await createTestPerson(server, { email: "ada@example.org" });
});
afterAll(async () => {
  process.off("warning", noteWarning);
  await server.close();
});

/** The page as its browser knows it: passkeys belong to a domain, and this machine's domain is localhost. */
const origin = () => server.url.replace("127.0.0.1", "localhost");
const anybody = () => clientOf(server, {});

async function addPasskey(person: TestPerson, name = "Laptop"): Promise<TestAuthenticator & { passkeyId: string }> {
  const authenticator = createAuthenticator(origin());
  const { options } = await person.client.send("beginPasskey", { body: { password: PASSWORD } });
  const response = authenticator.create(options);
  const { passkeyId } = await person.client.send("addPasskey", { body: { name, response } });
  return Object.assign(authenticator, { passkeyId });
}

async function answerOf(authenticator: TestAuthenticator, page: PageOf = {}) {
  const { options } = await anybody().send("beginPasskeySignIn");
  return authenticator.get(options, page);
}

const signIn = (response: Readonly<Record<string, unknown>>) =>
  anybody().call("signInWithPasskey", { body: { response } });

test("a server that is reached by a bare IP address says what passkeys need", async () => {
  const bare = await startTestServer({ role: "api", environment: { PROMPTD_PUBLIC_URL: "http://192.0.2.1" } });
  onTestFinished(() => bare.close());
  const asking = clientOf(bare, {}).send("beginPasskeySignIn");
  await expect(asking).rejects.toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining("HTTPS") });
});

test("a passkey is created once, listed, signs in without a password, and stops working once it is removed", async () => {
  const authenticator = await addPasskey(ada);
  const { data, headers } = await signIn(await answerOf(authenticator));
  expect(data).toEqual({ personId: ada.personId });
  const cookie = cookiesOf({ headers });
  expect((await clientOf(server, { cookie }).send("getSession")).person.email).toBe("ada@example.org");
  const { rows } = await ada.client.send("listPasskeys");
  expect(rows).toEqual([
    expect.objectContaining({ passkeyId: authenticator.passkeyId, name: "Laptop", lastUsedAt: expect.any(String) }),
  ]);
  const { passkeyId } = authenticator;
  await ada.client.send("removePasskey", { params: { passkeyId } });
  expect(await codeOf(answerOf(authenticator).then(signIn))).toBe("VALIDATION_ERROR");
  expect(await codeOf(ada.client.send("removePasskey", { params: { passkeyId } }))).toBe("NOT_FOUND_ERROR");
  expect(warnings).toEqual([]); // Node's, on the operator's terminal
});

describe("a response is refused", () => {
  let authenticator: TestAuthenticator;
  beforeAll(async () => {
    authenticator = await addPasskey(ada, "Key");
  });

  test.each([
    ["from a page of another origin", { origin: "https://evil.example" }],
    ["for another domain", { rpId: "evil.example" }],
    ["without verifying the person", { isVerified: false }],
  ])("%s", async (_what, page) => {
    expect(await codeOf(answerOf(authenticator, page).then(signIn))).toBe("VALIDATION_ERROR");
  });

  test("that was sent before", async () => {
    const answer = await answerOf(authenticator);
    expect(await codeOf(signIn(answer))).toBe("SUCCESS");
    expect(await codeOf(signIn(answer))).toBe("VALIDATION_ERROR");
  });

  test("of a copy with an outdated counter", async () => {
    authenticator.counter = 0;
    expect(await codeOf(answerOf(authenticator).then(signIn))).toBe("VALIDATION_ERROR");
    authenticator.counter = 100;
    expect(await codeOf(answerOf(authenticator).then(signIn))).toBe("SUCCESS");
  });

  test("to a challenge that is not the server's", async () => {
    const answer = authenticator.get({ rpId: "localhost", challenge: "AAAA" });
    expect(await codeOf(signIn(answer))).toBe("VALIDATION_ERROR");
  });

  test("with another signature, of another key, and anything else that is not a valid response", async () => {
    const other = createAuthenticator(origin());
    const answer = (await answerOf(authenticator)) as { id: string; response: Record<string, unknown> };
    const forged = other.get((await anybody().send("beginPasskeySignIn")).options);
    const answers = [
      { ...forged, id: answer.id, rawId: answer.id },
      { ...answer, response: { ...answer.response, signature: "AAAA" } },
      { ...answer, response: null },
      {},
    ];
    expect(await Promise.all(answers.map((one) => codeOf(signIn(one))))).toEqual(answers.map(() => "VALIDATION_ERROR"));
  });

  test("to options that another person requested", async () => {
    const eve = await createTestPerson(server);
    const { options } = await ada.client.send("beginPasskey", { body: { password: PASSWORD } });
    const response = createAuthenticator(origin()).create(options);
    expect(await codeOf(eve.client.send("addPasskey", { body: { name: "Eve's", response } }))).toBe("VALIDATION_ERROR");
  });
});

describe("somebody at an open browser", () => {
  test.each([[{}], [{ password: "not the password" }]])("adds no passkey with %j", async (body) => {
    expect(await codeOf(ada.client.send("beginPasskey", { body }))).toBe("VALIDATION_ERROR");
  });

  test("does not guess the password forever", async () => {
    const eve = await createTestPerson(server);
    const { db } = server.app;
    await db.query("delete from auth_rate_limits");
    const guess = eve.client.send("beginPasskey", { body: { password: "a guess" } });
    await expect(guess).rejects.toThrow(/not your password/);
    const counted = "update auth_rate_limits set count = 50 where key like 'password:%' and count = 1 returning 1";
    expect(await db.query(counted)).toHaveLength(1);
    const body = { password: PASSWORD };
    await expect(eve.client.send("beginPasskey", { body })).rejects.toThrow(/50 password attempts/);
  });

  test("adds no passkey for a person without a password who signed in more than an hour ago", async () => {
    const { client, personId } = await createTestPerson(server);
    const { db } = server.app;
    await db.query("delete from auth_logins where user_id = $1", [personId]);
    expect(await codeOf(client.send("beginPasskey", { body: {} }))).toBe("SUCCESS");
    const old = "update auth_sessions set created_at = created_at - interval '61 minutes' where user_id = $1";
    await db.query(old, [personId]);
    await expect(client.send("beginPasskey", { body: {} })).rejects.toThrow(/more than an hour ago/);
  });
});

test("a person lists and removes only their own passkeys", async () => {
  const { passkeyId } = await addPasskey(ada, "Own");
  const eve = await createTestPerson(server);
  expect(await codeOf(eve.client.send("removePasskey", { params: { passkeyId } }))).toBe("NOT_FOUND_ERROR");
  expect((await eve.client.send("listPasskeys")).rows).toEqual([]);
});

test("a frozen person cannot sign in with a passkey", async () => {
  const operator = await createTestPerson(server, { isOperator: true });
  const bob = await createTestPerson(server);
  const authenticator = await addPasskey(bob);
  await operator.client.send("updatePerson", { params: { personId: bob.personId }, body: { isFrozen: true } });
  const { headers } = await signIn(await answerOf(authenticator));
  const cookie = cookiesOf({ headers });
  expect(await codeOf(clientOf(server, { cookie }).send("getSession"))).toBe("UNAUTHORIZED_ERROR");
});

test("passkeys require a domain over https, or this machine", () => {
  expect(relyingPartyOf("https://promptd.example.org")).toEqual({
    id: "promptd.example.org",
    origin: "https://promptd.example.org",
  });
  expect(relyingPartyOf("http://127.0.0.1:8787")).toEqual({ id: "localhost", origin: "http://localhost:8787" });
  expect([relyingPartyOf("http://promptd.example.org"), relyingPartyOf("https://192.0.2.7")]).toEqual([null, null]);
});
