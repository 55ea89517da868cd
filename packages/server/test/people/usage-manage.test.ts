/** Usage, earnings and grants over the management API: who may see and do what, as JSON and CSV. */
import { MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApiKey } from "../../src/accounts/index.ts";
import { imagePrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { bodyOf, errorOf } from "../wire/requests.ts";
import { createTestPerson, type TestPerson } from "./people-fixture.ts";

const DAY = new Date().toISOString().slice(0, 10);

let server: TestServer;
let owner: TestPerson;
let author: TestPerson;
let operator: TestPerson;
let keyId = "";
let slug = "";

beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_AUTHOR_SHARE: "30" } });
  [owner, author] = [await createTestPerson(server), await createTestPerson(server)];
  operator = await createTestPerson(server, { isOperator: true });
  const { db } = server.app;
  await db.query("update accounts set pro_until = 'infinity' where id = $1", [owner.accountId]);
  await server.grant(owner.accountId, { amount: 100 });
  const prompt = await server.publish(imagePrompt(), { authorId: author.accountId });
  slug = prompt.slug;
  const created = await createApiKey(db, () => crypto.randomUUID(), { accountId: owner.accountId, name: '=ci, "x"' });
  keyId = created.keyId;
  const client = server.clientOf(created.apiKey);
  for (let i = 0; i < 2; i += 1) await client.runs.create(bodyOf(prompt.promptVersionId));
});
afterAll(() => server.close());

/** Without the check that every response is JSON. */
const raw = async (person: TestPerson, path: string) => {
  const response = await fetch(`${server.url}${path}`, { headers: { cookie: person.cookie } });
  return { httpStatus: response.status, type: response.headers.get("content-type"), text: await response.text() };
};

test("author earnings are a feature of the installation", async () => {
  expect(await author.client.send("getFeatures")).toMatchObject({ authorSharePercent: 30 });
});

describe("usage", () => {
  test("of the account is up to date, grouped as requested, without the providers' cost", async () => {
    const { rows, ...span } = await owner.client.send("getUsage", { query: { by: "day,key,prompt" } });
    expect(span).toMatchObject({ to: DAY, isCut: false });
    expect(rows).toEqual([
      {
        day: DAY,
        keyId,
        keyName: '=ci, "x"',
        promptId: expect.any(String),
        promptSlug: slug,
        promptTitle: expect.any(String),
        model: null,
        accountId: null,
        accountEmail: null,
        runs: 2,
        failed: 0,
        credits: 8,
        inputTokens: expect.any(Number),
        outputTokens: expect.any(Number),
        costMicro: null,
      },
    ]);
    expect((await author.client.send("getUsage", {})).rows).toEqual([]);
  });

  test("has no days before the first year", async () => {
    for (const path of ["/manage/v1/usage", "/manage/v1/earnings"]) {
      const span = "from=0000-01-01&to=0000-01-02";
      const answer = await owner.client.request({ method: "GET", path: `${path}?${span}` });
      expect([path, answer.httpStatus]).toEqual([path, 422]);
    }
  });

  test("as CSV has the requested columns, and no cell that a program would run", async () => {
    const answer = await raw(owner, "/manage/v1/usage?by=key&format=csv");
    expect([answer.httpStatus, answer.type]).toEqual([200, "text/csv; charset=utf-8"]);
    const [head, row, end] = answer.text.split("\r\n");
    expect([head, end]).toEqual(["keyId,keyName,runs,failed,credits,inputTokens,outputTokens", ""]);
    expect(row).toMatch(`${keyId},"'=ci, ""x""",2,0,8,`);
  });

  test("of all accounts is for operators, with cost, and can be limited to one account", async () => {
    const query = { by: "account", accountId: owner.accountId };
    const { rows } = await operator.client.send("getInstallationUsage", { query });
    expect(rows).toMatchObject([{ accountId: owner.accountId, runs: 2, credits: 8, costMicro: expect.any(Number) }]);
    const all = await operator.client.send("getInstallationUsage", { query: { by: "model" } });
    expect(all.rows).toMatchObject([{ model: "sandbox/image", runs: 2 }]);
    const { httpStatus } = await raw(owner, "/manage/v1/system/usage");
    expect(httpStatus).toBe(401);
  });

  test.each([
    ["by=account", "by"],
    ["by=day,day", "by"],
    ["by=", "by"],
    ["by=day,key,prompt,model", "by"],
    ["from=2026-02-30", "from"],
    ["from=2026-03-02&to=2026-03-01", "from"],
    ["from=2024-01-01&to=2026-01-01", "from"],
    ["format=xml", "format"],
  ])("refuses %s", async (query, name) => {
    const answer = await owner.client.request({ method: "GET", path: `/manage/v1/usage?${query}` });
    expect(answer.httpStatus).toBe(422);
    expect(errorOf(answer).data).toMatchObject({ issues: [{ path: ["query", name] }] });
  });

  test("suggests the dimension closest to a misspelled one", async () => {
    const answer = await owner.client.request({ method: "GET", path: "/manage/v1/usage?by=day,promt" });
    expect(errorOf(answer).data).toMatchObject({
      issues: [{ message: expect.stringMatching(/Got "day,promt"\. Did you mean "prompt"\?$/) }],
    });
  });
});

describe("earnings", () => {
  test("are the author's, by prompt and by day, and name no caller", async () => {
    const earned = { promptSlug: slug, runs: 2, failed: 0, credits: 8, earned: "2.40" };
    expect((await author.client.send("getEarnings", {})).rows).toMatchObject([{ ...earned, day: null }]);
    expect((await author.client.send("getEarnings", { query: { by: "day" } })).rows).toMatchObject([
      { ...earned, day: DAY },
    ]);
    expect((await owner.client.send("getEarnings", {})).rows).toEqual([]);
    const csv = await raw(author, "/manage/v1/earnings?format=csv");
    expect(csv.text).toMatch(/^day,promptId,promptSlug,runs,failed,credits,earned\r\n,[^,]+,[^,]+,2,0,8,2\.40\r\n$/);
    expect(csv.text).not.toContain(owner.accountId);
  });
});

describe("a grant", () => {
  const grant = (person: TestPerson, body: object, key: string | null) =>
    person.client.request({
      method: "POST",
      path: "/manage/v1/credits/grants",
      body,
      headers: key === null ? {} : { "idempotency-key": key },
    });

  test("by an operator's token is made once per key, however often a payment system sends it", async () => {
    const { client } = await operator.token(["operator"]);
    const person = await createTestPerson(server);
    const body = { account: person.accountId, amount: 500, reason: "payment 1" };
    const send = () =>
      client.request({
        method: "POST",
        path: "/manage/v1/credits/grants",
        body,
        headers: { "idempotency-key": "payment_1" },
      });
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([200, 200, 200]);
    const shown = answers.map(({ envelope }) => envelope?.data as { isRepeated: boolean; credits: number });
    expect(shown.map(({ credits }) => credits)).toEqual([500, 500, 500]);
    expect(shown.filter(({ isRepeated }) => !isRepeated)).toHaveLength(1);
    const other = await grant(operator, { ...body, amount: 501 }, "payment_1");
    expect([other.httpStatus, errorOf(other).data]).toMatchObject([
      422,
      { issues: [{ path: ["header", "Idempotency-Key"], code: "conflict" }] },
    ]);
  });

  test("needs its key, an existing account, and an expiry in the future", async () => {
    const account = owner.accountId;
    const missing = await grant(operator, { account, amount: 1 }, null);
    expect([missing.httpStatus, errorOf(missing).data]).toMatchObject([422, { issues: [{ code: "required" }] }]);
    expect((await grant(operator, { account: "ghost@example.org", amount: 1 }, "g")).httpStatus).toBe(404);
    const past = { account, amount: 1, expiresAt: "2020-01-01T00:00:00Z" };
    expect((await grant(operator, past, "p")).httpStatus).toBe(422);
    expect((await grant(operator, { account, amount: 0 }, "z")).httpStatus).toBe(422);
    for (const expiresAt of ["+275760-09-12T00:00:00Z", "9999-12-31T23:59:59-01:00"]) {
      expect([expiresAt, (await grant(operator, { account, amount: 1, expiresAt }, "f")).httpStatus]).toEqual([
        expiresAt,
        422,
      ]);
    }
  });

  test("is for operators: 401 for an owner, and for an operator's token without the scope", async () => {
    const { token } = await operator.token(["credits:read", "keys:write"]);
    const body = { account: owner.accountId, amount: 5 };
    expect((await grant(owner, body, "mine")).httpStatus).toBe(401);
    const response = await fetch(`${server.url}${MANAGE_ENDPOINTS.grantCredits.path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": "k" },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(401);
  });
});
