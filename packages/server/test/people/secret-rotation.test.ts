/** What people have after the server's secret was rotated. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { mintCode, peopleTicks } from "../../src/people/index.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { cookiesOf, postAsPage } from "./page-requests.ts";
import { createTestPerson, PASSWORD, totpOf } from "./people-fixture.ts";

const SECRETS = ["the first secret, long enough to be one", "the second secret, also long enough"] as const;
const SECOND = { PROMPTD_SECRET: SECRETS[1], PROMPTD_SECRET_PREVIOUS: SECRETS[0] };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SECRET: SECRETS[0] } });
});
afterAll(() => server.close());

const postAuth = (url: string, path: string, body: unknown, cookie = "") =>
  postAsPage({ url }, `/manage/auth${path}`, body, cookie === "" ? {} : { cookie });

/** A person with an authenticator app, set up at a process with the first secret. */
async function createPersonWithApp() {
  await server.app.db.query("delete from auth_rate_limits"); // from the previous tests
  const person = await createTestPerson(server);
  const { email } = (await person.client.send("getSession")).person;
  const enabled = await postAuth(server.url, "/two-factor/enable", { password: PASSWORD }, person.cookie);
  const { totpURI, backupCodes } = (await enabled.json()) as { totpURI: string; backupCodes: string[] };
  const secret = new URL(totpURI).searchParams.get("secret") ?? "";
  expect((await postAuth(server.url, "/two-factor/verify-totp", { code: totpOf(secret) }, person.cookie)).status).toBe(
    200,
  );
  /** The statuses of a sign-in with the app's code, and of one with a backup code. */
  const signIns = async (url: string): Promise<number[]> => {
    const statuses = [];
    for (const [path, code] of [
      ["/two-factor/verify-totp", totpOf(secret)],
      ["/two-factor/verify-backup-code", backupCodes.pop()],
    ] as const) {
      await server.app.db.query("delete from auth_rate_limits");
      const half = await postAuth(url, "/sign-in/email", { email, password: PASSWORD });
      statuses.push((await postAuth(url, path, { code }, cookiesOf(half))).status);
    }
    return statuses;
  };
  return { ...person, signIns };
}

/** The periodic work of a process that was started after the rotation. */
async function reencrypt(): Promise<void> {
  const config = readConfig(SECOND);
  const [secret, previous] = [Buffer.from(SECRETS[1]), Buffer.from(SECRETS[0])];
  const ticks = peopleTicks({ db: server.app.db, config, mailer: null, secret, previousSecrets: [previous] });
  await ticks.find(({ name }) => name === "second-factors")?.run();
}

test("authenticator apps and backup codes work after a rotation, also once the previous secret is removed", async () => {
  const ada = await createPersonWithApp();
  const rotated = await server.startAnother("api", SECOND);
  expect(await ada.signIns(rotated.listenUrl ?? "")).toEqual([200, 200]);
  await reencrypt();
  const removed = await server.startAnother("api", { PROMPTD_SECRET: SECRETS[1] });
  expect(await ada.signIns(removed.listenUrl ?? "")).toEqual([200, 200]);
});

test("so does what was stored before secrets had versions", async () => {
  const ada = await createPersonWithApp();
  const withoutVersion = "regexp_replace($1, '^\\$ba\\$[0-9]+\\$', '')";
  await server.app.db.query(
    `update auth_two_factors set secret = ${withoutVersion.replace("$1", "secret")},
       backup_codes = ${withoutVersion.replace("$1", "backup_codes")} where user_id = $1`,
    [ada.personId],
  );
  expect(await ada.signIns(server.url)).toEqual([200, 200]);
  await reencrypt();
  const rotated = await server.startAnother("api", SECOND);
  expect(await ada.signIns(rotated.listenUrl ?? "")).toEqual([200, 200]);
});

test("the app of one person is not kept waiting by apps of any number that no known secret decrypts", async () => {
  const { db } = server.app;
  const lost = `with people as (
      insert into auth_users (id, name, email)
      select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Lost', 'lost-' || n || '@example.org'
      from generate_series(1, 501) n returning id)
    insert into auth_two_factors (id, user_id, secret, backup_codes) select id, id, '$ba$1$00', '$ba$1$00' from people`;
  await db.query(lost);
  onTestFinished(() => db.query("delete from auth_users where name = 'Lost'").then(() => undefined));
  const ada = await createPersonWithApp();
  await reencrypt();
  const removed = await server.startAnother("api", { PROMPTD_SECRET: SECRETS[1] });
  expect(await ada.signIns(removed.listenUrl ?? "")).toEqual([200, 200]);
});

test("after the secret was lost, an operator's link leads people back in, and they set up their app again", async () => {
  const ada = await createPersonWithApp();
  const { db } = server.app;
  await db.query("delete from file_keys"); // as the refused start says
  const renewed = await server.startAnother("api", { PROMPTD_SECRET: "a new secret, because the other was lost" });
  const url = renewed.listenUrl ?? "";
  const code = await mintCode(db, { personId: ada.personId, accountId: null, makesOperator: false, signsIn: false });
  const welcome = await postAsPage({ url }, "/manage/v1/welcome", { code, password: PASSWORD });
  expect(welcome.status).toBe(200);
  const disabled = await postAuth(url, "/two-factor/disable", { password: PASSWORD }, cookiesOf(welcome));
  expect(disabled.status).toBe(200);
  expect((await postAuth(url, "/two-factor/enable", { password: PASSWORD }, cookiesOf(disabled))).status).toBe(200);
});
