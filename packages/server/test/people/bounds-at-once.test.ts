/** Limits on numbers hold even when concurrent requests count at the same time. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insertPasskey } from "../../src/people/sign-in/passkeys-store.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { createTestPerson, type TestPerson } from "./people-fixture.ts";

const SENT = 4;
/** Sent together while there is room for two. */
const FIRST = 50 - 2;

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server);
});
afterAll(() => server.close());

/** How many of `SENT` requests succeed that all wait for the row owning what they add. */
async function sendTogether(owner: string, id: string, send: (n: number) => Promise<unknown>): Promise<number> {
  const { db } = server.app;
  const sent = await db.tx(async (tx) => {
    await tx.query(`select 1 from ${owner} where id = $1 for update`, [id]);
    const requests = Array.from({ length: SENT }, (_, n) => send(n));
    const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await until(async () => (await db.query(waits)).length >= SENT);
    return { answers: Promise.allSettled(requests) };
  });
  return (await sent.answers).filter(({ status }) => status === "fulfilled").length;
}

test("a person can have at most 50 management tokens", async () => {
  const text = `insert into management_tokens (id, person_id, account_id, token_hash, name, display, scopes, expires_at)
    select gen_random_uuid(), $1, $2, sha256(('token ' || n)::bytea), 'one', 'pdm_', '{runs:read}', promptd_now() + interval '1 day'
    from generate_series(1, ${FIRST}) n`;
  await server.app.db.query(text, [ada.personId, ada.accountId]);
  const body = { name: "one more", scopes: ["runs:read"], expiresInDays: 1 } as const;
  expect(await sendTogether("auth_users", ada.personId, () => ada.client.send("createToken", { body }))).toBe(2);
});

test("an account can invite at most 50 people in a week", async () => {
  const text = `insert into invitations (id, account_id, email, role, code_hash, invited_by, expires_at)
    select gen_random_uuid(), $1, n || '@example.org', 'member', sha256(('invitation ' || n)::bytea), $2, promptd_now() + interval '7 days'
    from generate_series(1, ${FIRST}) n`;
  await server.app.db.query(text, [ada.accountId, ada.personId]);
  const invite = (n: number) =>
    ada.client.send("createInvitation", { body: { email: `more-${n}@example.org`, role: "member" } });
  expect(await sendTogether("accounts", ada.accountId, invite)).toBe(2);
});

test("a prompt can have at most 50 labels", async () => {
  const { published } = await ada.client.send("publishPromptFile", { body: { source: textPrompt() } });
  const [{ promptId, promptVersionId } = { promptId: "", promptVersionId: "" }] = published;
  const text = `insert into prompt_labels (prompt_id, label, prompt_version_id)
    select $1, 'label-' || n, $2 from generate_series(1, ${FIRST}) n`;
  await server.app.db.query(text, [promptId, promptVersionId]);
  const set = (n: number) =>
    ada.client.send("setLabel", { params: { promptId, label: `more-${n}` }, body: { promptVersionId } });
  expect(await sendTogether("prompts", promptId, set)).toBe(2);
});

test("an account can have at most ten webhooks", async () => {
  const text = `insert into webhooks (id, account_id, url, events, secret)
    select gen_random_uuid(), $1, 'https://example.com/' || n, '{run.finished}', 'x' from generate_series(1, 8) n`;
  await server.app.db.query(text, [ada.accountId]);
  const body = { url: "https://example.com/one-more", events: ["run.finished"] } as const;
  expect(await sendTogether("accounts", ada.accountId, () => ada.client.send("createWebhook", { body }))).toBe(2);
});

test("an account can have at most 1,000 drafts that were never published", async () => {
  const text = `with begun as (
      insert into prompts (id, author_id, own_slug, slug)
      select gen_random_uuid(), $1, 'draft-' || n, 'draft-' || n from generate_series(1, 998) n returning id)
    insert into prompt_drafts (prompt_id, source, title) select id, '', 'one' from begun`;
  await server.app.db.query(text, [ada.accountId]);
  expect(await sendTogether("accounts", ada.accountId, () => ada.client.send("createDraft", { body: {} }))).toBe(2);
});

test("a person can have at most 20 passkeys", async () => {
  const { db } = server.app;
  const add = (n: number) => {
    const id = randomUUID();
    const given = { passkeyId: id, personId: ada.personId, credentialId: id, name: `passkey ${n}` };
    const device = { publicKey: "", counter: 0, transports: null, deviceType: "singleDevice", isBackedUp: false };
    return db.tx((tx) => insertPasskey(tx, { ...given, ...device, aaguid: id }, 20));
  };
  for (let n = 0; n < 18; n += 1) await add(n);
  const isAdded = async (n: number) => expect(await add(n)).not.toBeNull();
  expect(await sendTogether("auth_users", ada.personId, isAdded)).toBe(2);
});
