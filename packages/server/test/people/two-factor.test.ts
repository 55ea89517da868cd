/** A second factor: authenticator codes in addition to the password. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { clientOf, createTestPerson, PASSWORD, personOf, totpOf, type TestPerson } from "./people-fixture.ts";

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server, { email: "ada@example.org" });
});
afterAll(() => server.close());

const secretOf = (totpUri: string) => new URL(totpUri).searchParams.get("secret") ?? "";
const post = (path: string, body: unknown, cookie: string | null) =>
  fetch(`${server.url}/manage/auth${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.url, ...(cookie === null ? {} : { cookie }) },
    body: JSON.stringify(body),
  });
const cookiesOf = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .map((one) => one.split(";")[0] ?? "")
    .join("; ");

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

  const wrong = await post("/two-factor/verify-totp", { code: "000000" }, cookiesOf(first));
  expect(wrong.status).toBe(401);
  const second = await post("/two-factor/verify-totp", { code: totpOf(secretOf(totpURI)) }, cookiesOf(first));
  expect(second.status).toBe(200);
  expect((await personOf(server, cookiesOf(second))).personId).toBe(ada.personId);
});

test("the secret of its codes is stored encrypted", async () => {
  const rows = await server.app.db.query<{ secret: string; backup_codes: string }>(
    "select secret, backup_codes from auth_two_factors",
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]?.secret).not.toMatch(/^[A-Z2-7]{16,}$/);
  expect(rows[0]?.backup_codes).not.toContain("-");
});
