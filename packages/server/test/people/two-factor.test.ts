/** A second factor: codes of an authenticator app beside the password. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { clientOf, createTestPerson, PASSWORD, personOf, type TestPerson } from "./people-fixture.ts";

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server, { email: "ada@example.org" });
});
afterAll(() => server.close());

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

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** RFC 6238 with its usual values: HMAC-SHA1, 30 seconds, six digits. */
function totpOf(uri: string): string {
  const secret = new URL(uri).searchParams.get("secret") ?? "";
  const bits = Array.from(secret, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac("sha1", key).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

test("once it is on, a password alone begins no session, and the code of the app does", async () => {
  const enabled = await post("/two-factor/enable", { password: PASSWORD }, ada.cookie);
  expect(enabled.status).toBe(200);
  const { totpURI } = (await enabled.json()) as { totpURI: string };
  const confirmed = await post("/two-factor/verify-totp", { code: totpOf(totpURI) }, ada.cookie);
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
  const second = await post("/two-factor/verify-totp", { code: totpOf(totpURI) }, cookiesOf(first));
  expect(second.status).toBe(200);
  expect((await personOf(server, cookiesOf(second))).personId).toBe(ada.personId);
});

test("what its codes are made from stands in the database encrypted", async () => {
  const rows = await server.app.db.query<{ secret: string; backup_codes: string }>(
    "select secret, backup_codes from auth_two_factors",
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]?.secret).not.toMatch(/^[A-Z2-7]{16,}$/);
  expect(rows[0]?.backup_codes).not.toContain("-");
});
