/** A second factor: authenticator codes in addition to the password. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { clientOf, createTestPerson, PASSWORD, personOf, totpOf, type TestPerson } from "./people-fixture.ts";
import { cookiesOf, postAsPage } from "./page-requests.ts";

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server, { email: "ada@example.org" });
});
afterAll(() => server.close());

const secretOf = (totpUri: string) => new URL(totpUri).searchParams.get("secret") ?? "";
const post = (path: string, body: unknown, cookie: string | null) =>
  postAsPage(server, `/manage/auth${path}`, body, cookie === null ? {} : { cookie });

test("once it is enabled, a password alone begins no session, and an authenticator code does", async () => {
  const enabled = await post("/two-factor/enable", { password: PASSWORD }, ada.cookie);
  expect(enabled.status).toBe(200);
  const { totpURI } = (await enabled.json()) as { totpURI: string };
  const confirmed = await post("/two-factor/verify-totp", { code: totpOf(secretOf(totpURI)) }, ada.cookie);
  expect(confirmed.status).toBe(200);

  const first = await post("/sign-in/email", { email: "ada@example.org", password: PASSWORD }, null);
  expect(await first.json()).toMatchObject({ twoFactorRedirect: true });
  const half = await clientOf(server, { cookie: cookiesOf(first) }).request({
    method: "GET",
    path: "/manage/v1/session",
  });
  expect(half.httpStatus).toBe(401);

  // A browser that skips the second factor for a month would do so for a thief, too.
  const trusting = { code: totpOf(secretOf(totpURI)), trustDevice: true };
  expect((await post("/two-factor/verify-totp", trusting, cookiesOf(first))).status).toBe(400);
  await server.app.db.query("delete from auth_rate_limits");
  const wrong = await post("/two-factor/verify-totp", { code: "000000" }, cookiesOf(first));
  expect(wrong.status).toBe(401);
  const second = await post("/two-factor/verify-totp", { code: totpOf(secretOf(totpURI)) }, cookiesOf(first));
  expect(second.status).toBe(200);
  expect((await personOf(server, cookiesOf(second))).personId).toBe(ada.personId);
});

describe("of two sign-ins with the same code, one succeeds:", () => {
  /** Signs in with the password, twice, and then with `body` in both browsers at once. */
  async function verifyTwice(path: string, body: (secret: string, backupCode: string) => object): Promise<number[]> {
    const { db } = server.app;
    await db.query("delete from auth_rate_limits"); // from the previous tests
    const person = await createTestPerson(server);
    const { email } = (await person.client.send("getSession")).person;
    const enabled = await post("/two-factor/enable", { password: PASSWORD }, person.cookie);
    const { totpURI, backupCodes } = (await enabled.json()) as { totpURI: string; backupCodes: string[] };
    const secret = secretOf(totpURI);
    const confirmed = await post("/two-factor/verify-totp", { code: totpOf(secret) }, person.cookie);
    expect(confirmed.status).toBe(200);
    const signIn = () => post("/sign-in/email", { email, password: PASSWORD }, null);
    const halves = [cookiesOf(await signIn()), cookiesOf(await signIn())];
    const given = body(secret, backupCodes[0] ?? "");
    const answers = await db.tx(async (tx) => {
      await tx.query("select 1 from auth_two_factors where user_id = $1 for update", [person.personId]);
      const sent = halves.map((cookie) => post(path, given, cookie));
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await until(async () => (await db.query(waits)).length >= halves.length);
      return { sent: Promise.all(sent) };
    });
    return (await answers.sent).map(({ status }) => status).toSorted((a, b) => a - b);
  }

  test("a code from the app", async () => {
    expect(await verifyTwice("/two-factor/verify-totp", (secret) => ({ code: totpOf(secret) }))).toEqual([200, 401]);
  });

  test("a backup code", async () => {
    expect(await verifyTwice("/two-factor/verify-backup-code", (_, code) => ({ code }))).toEqual([200, 409]);
  });
});

test("the secret of its codes is stored encrypted", async () => {
  const rows = await server.app.db.query<{ secret: string; backup_codes: string }>(
    "select secret, backup_codes from auth_two_factors",
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows[0]?.secret).not.toMatch(/^[A-Z2-7]{16,}$/);
  expect(rows[0]?.backup_codes).not.toContain("-");
});
