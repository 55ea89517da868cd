/** API keys over the management API: who may do what with them, and what a key shows. */
import { MANAGE_ENDPOINTS, type ListKeysQuery } from "@promptd/contract/manage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { imagePrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { bodyOf, errorOf, get, postRun } from "../wire/requests.ts";
import { createTestPerson, type TestPerson } from "./people-fixture.ts";

let server: TestServer;
let ada: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  [ada, bob] = [await createTestPerson(server), await createTestPerson(server)];
});
afterAll(() => server.close());

const KEY_ID = "00000000-0000-7000-8000-000000000000";
const KEY_ENDPOINTS = Object.entries(MANAGE_ENDPOINTS).filter(([, { path }]) => path.startsWith("/manage/v1/keys"));
const isWrite = (method: string) => method !== "GET";
/** A body that every write of keys accepts. */
const BODY = JSON.stringify({ name: "test" });

function request(method: string, path: string, headers: Readonly<Record<string, string>>) {
  const hasBody = method === "POST" || method === "PATCH";
  return fetch(`${server.url}${path}`, {
    method,
    headers: { ...headers, ...(hasBody ? { "content-type": "application/json" } : {}) },
    ...(hasBody ? { body: BODY } : {}),
  });
}

describe.each(KEY_ENDPOINTS)("%s", (_name, { method, path }) => {
  const address = path.replace(":keyId", KEY_ID);
  const hasId = path.includes(":keyId");

  test("accepts sessions and tokens: 401 without a credential, with an API key, and with a token without its scope", async () => {
    const { apiKey } = await server.createCaller();
    const { token } = await ada.token(["prompts:read", "credits:read"]);
    for (const headers of [{}, { authorization: `Bearer ${apiKey}` }, { authorization: `Bearer ${token}` }]) {
      expect((await request(method, address, headers as Record<string, string>)).status).toBe(401);
    }
  });

  test("is for owners if it writes, and for members if it reads", async () => {
    const { token } = await ada.token(["keys:write"]);
    const text = "update account_members set role = $2 where account_id = $1";
    await server.app.db.query(text, [ada.accountId, "member"]);
    const { status } = await request(method, address, { authorization: `Bearer ${token}` });
    await server.app.db.query(text, [ada.accountId, "owner"]);
    expect(status).toBe(isWrite(method) ? 401 : hasId ? 404 : 200);
  });

  test.runIf(hasId)("gives another account's key the same bytes as a missing one", async () => {
    const theirs = await bob.client.send("createKey", { body: { name: "of Bob" } });
    const { token } = await ada.token(["keys:write"]);
    const headers = { authorization: `Bearer ${token}` };
    const texts = await Promise.all(
      [KEY_ID, theirs.keyId].map(async (id) => {
        const response = await request(method, path.replace(":keyId", id), headers);
        return [response.status, (await response.text()).replaceAll(id, "ID")];
      }),
    );
    expect(texts[0]?.[0]).toBe(404);
    expect(texts[1]).toEqual(texts[0]);
    expect((await get(server.clientOf(theirs.apiKey), "/v1/me")).httpStatus).not.toBe(401);
  });
});

describe("a key", () => {
  test("is created with its terms, shown whole once, listed, shown, and changed", async () => {
    const terms = { name: "nightly", monthlyCap: 9, expiresAt: "2031-05-06T10:00:00+02:00", promptIds: [KEY_ID] };
    const { apiKey, ...created } = await ada.client.send("createKey", { body: terms });
    expect(apiKey).toMatch(/^pd_[0-9A-Za-z]{36}$/);
    expect(created).toEqual({
      ...terms,
      expiresAt: "2031-05-06T08:00:00.000Z",
      keyId: expect.any(String),
      display: `${apiKey.slice(0, 8)}…${apiKey.slice(-4)}`,
      state: "valid",
      createdAt: expect.any(String),
      revokedAt: null,
      lastUsedAt: null,
      lastUsedFrom: null,
      usedThisMonth: 0,
      last30Days: { runs: 0, failed: 0, credits: 0 },
    });
    const { keyId } = created;
    expect(await ada.client.send("getKey", { params: { keyId } })).toEqual(created);
    expect((await ada.client.send("listKeys", {})).rows[0]).toEqual(created);
    const changes = { name: "daily", monthlyCap: null, promptIds: null };
    expect(await ada.client.send("updateKey", { params: { keyId }, body: changes })).toEqual({
      ...created,
      ...changes,
    });
    expect(JSON.stringify(await server.app.db.query("select * from audit_entries"))).not.toContain(apiKey);
  });

  test("shows its runs' usage for this month and for 30 days", async () => {
    const person = await createTestPerson(server);
    await server.grant(person.accountId, { amount: 100 });
    await server.app.db.query("update accounts set pro_until = 'infinity' where id = $1", [person.accountId]);
    const { keyId, apiKey } = await person.client.send("createKey", { body: { name: "runs", monthlyCap: 6 } });
    const { promptVersionId } = await server.publish(imagePrompt());
    const client = server.clientOf(apiKey);
    expect((await postRun(client, bodyOf(promptVersionId))).httpStatus).toBe(200);
    expect((await postRun(client, bodyOf(promptVersionId))).httpStatus).toBe(402);
    const key = await person.client.send("getKey", { params: { keyId } });
    expect(key).toMatchObject({ usedThisMonth: 4, last30Days: { runs: 1, failed: 0, credits: 4 } });
  });

  test("is rolled and revoked, which its next request reflects", async () => {
    const { keyId, apiKey } = await ada.client.send("createKey", { body: { name: "old" } });
    const status = async (key: string) => (await get(server.clientOf(key), "/v1/me")).httpStatus;
    const rolled = await ada.client.send("rollKey", { params: { keyId }, body: { overlapHours: 0 } });
    expect(rolled).toMatchObject({ name: "old", oldKeyId: keyId, oldKeyExpiresAt: expect.any(String) });
    expect(await ada.client.send("getKey", { params: { keyId } })).toMatchObject({ state: "expired" });
    expect([await status(apiKey), await status(rolled.apiKey)]).toEqual([401, 402]); // the new account has no plan
    const revoked = await ada.client.send("revokeKey", { params: { keyId: rolled.keyId } });
    expect([revoked.state, await status(rolled.apiKey)]).toEqual(["revoked", 401]);
    const again = await ada.client.send("revokeKey", { params: { keyId: rolled.keyId } });
    expect(again.revokedAt).toBe(revoked.revokedAt);
  });

  test("that is revoked is left out of the list on request, but an expired one is not", async () => {
    const person = await createTestPerson(server);
    const create = (name: string) => person.client.send("createKey", { body: { name } });
    const [valid, expired, revoked] = [await create("valid"), await create("expired"), await create("revoked")];
    await person.client.send("revokeKey", { params: { keyId: revoked.keyId } });
    await server.app.db.query("update api_keys set expires_at = promptd_now() where id = $1", [expired.keyId]);
    const list = async (query: ListKeysQuery) =>
      (await person.client.send("listKeys", { query })).rows.map(({ keyId }) => keyId);
    expect(await list({})).toEqual([revoked.keyId, expired.keyId, valid.keyId]);
    expect(await list({ revoked: "without" })).toEqual([expired.keyId, valid.keyId]);
    expect(await list({ revoked: "without", limit: 1, startingAfter: expired.keyId })).toEqual([valid.keyId]);
  });

  test.each([
    [{}, ["required body.name"]],
    [{ name: " ", monthlyCap: -1 }, ["required body.name", "invalid_value body.monthlyCap"]],
    [{ name: "\u200b\u202e\u2060" }, ["invalid_value body.name"]],
    [{ name: "x", promptIds: [] }, ["invalid_value body.promptIds"]],
    [{ name: "x", expiresAt: "2020-01-01T00:00:00Z" }, ["invalid_value body.expiresAt"]],
    [
      { name: "x", promptIds: ["essay"], expiresAt: "soon" },
      ["invalid_value body.expiresAt", "invalid_value body.promptIds"],
    ],
  ])("is refused with everything that is wrong: %j", async (body, lines) => {
    const answer = await ada.client.request({ method: "POST", path: "/manage/v1/keys", body });
    const { data } = errorOf(answer);
    const { issues } = data as { issues: readonly { code: string; path: readonly string[] }[] };
    expect(issues.map(({ code, path }) => `${code} ${path.join(".")}`).toSorted()).toEqual(lines.toSorted());
  });

  test("is not created if there are 20 others, and an expired one is not rolled", async () => {
    const person = await createTestPerson(server);
    for (let i = 0; i < 20; i += 1) await person.client.send("createKey", { body: { name: `key ${i}` } });
    const more = await person.client.request({ method: "POST", path: "/manage/v1/keys", body: { name: "more" } });
    expect(errorOf(more).data).toMatchObject({ issues: [{ code: "too_many" }] });
    const [key] = (await person.client.send("listKeys", {})).rows;
    const keyId = key?.keyId ?? "";
    await person.client.send("updateKey", { params: { keyId }, body: { expiresAt: "2020-01-01T00:00:00Z" } });
    const path = `/manage/v1/keys/${keyId}/roll`;
    const rolled = await person.client.request({ method: "POST", path, body: {} });
    expect([rolled.httpStatus, errorOf(rolled).data]).toMatchObject([422, { issues: [{ path: ["path", "keyId"] }] }]);
  });

  test("list is paged, newest first", async () => {
    const person = await createTestPerson(server);
    for (const name of ["one", "two", "three"]) await person.client.send("createKey", { body: { name } });
    const first = await person.client.send("listKeys", { query: { limit: 2 } });
    expect([first.rows.map(({ name }) => name), first.hasMore]).toEqual([["three", "two"], true]);
    const rest = await person.client.send("listKeys", { query: { limit: 2, startingAfter: first.rows[1]?.keyId } });
    expect([rest.rows.map(({ name }) => name), rest.hasMore]).toEqual([["one"], false]);
  });
});
