/** How a key is given, and what a 401 says (specification, "Authentication"). */
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { promptFile } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { bodyOf, errorOf, get } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

const INVALID = "The API key is not valid. Check it, create a new one, or ask the account's owner for one.";
const FORM = 'The Authorization header must have the form "Bearer <API_KEY>".';
const MISSING = 'No API key was sent. Send the header "Authorization: Bearer <API_KEY>".';

let server: TestServer;
let caller: TestCaller;

beforeAll(async () => {
  server = await startTestServer({ httpLimits: { failedAdmissionsPerSecond: 1_000 } });
});
beforeEach(async () => {
  caller = await server.createCaller();
});
afterAll(() => server.close());

async function authorize(authorization: string): Promise<{ httpStatus: number; message: string }> {
  const answer = await get(caller.client, "/v1/me", { authorization });
  return { httpStatus: answer.httpStatus, message: answer.httpStatus === 200 ? "" : errorOf(answer).message };
}

describe("a key is accepted", () => {
  test.each(["Bearer KEY", "bearer KEY", "BEARER KEY", "Bearer   KEY"])("in the form %s", async (form) => {
    expect((await authorize(form.replace("KEY", caller.apiKey))).httpStatus).toBe(200);
  });
});

describe("401 says that the header is wrong", () => {
  test.each([
    ["another scheme", () => `Basic ${Buffer.from(`key:${caller.apiKey}`).toString("base64")}`],
    ["no scheme", () => caller.apiKey],
    ["a scheme without a key", () => "Bearer"],
    ["two words after the scheme", () => `Bearer ${caller.apiKey} ${caller.apiKey}`],
    ["a comma list of two", () => `Bearer ${caller.apiKey}, Bearer ${caller.apiKey}`],
  ])("%s", async (_, header) => {
    expect(await authorize(header())).toEqual({ httpStatus: 401, message: FORM });
  });

  test("more than 256 characters", async () => {
    const message = 'The Authorization header is longer than 256 characters. Send only "Bearer <API_KEY>".';
    expect(await authorize(`Bearer ${"a".repeat(250)}`)).toEqual({ httpStatus: 401, message });
  });

  test("two Authorization headers, even with the same valid key", async () => {
    const value = `Bearer ${caller.apiKey}`;
    const headers = ["host", new URL(server.url).host, "authorization", value, "authorization", value];
    const sent = request(`${server.url}/v1/me`, { headers }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(401);
    const message = 'The request has 2 Authorization headers. Send one: "Authorization: Bearer <API_KEY>".';
    expect(await json(response)).toMatchObject({ status: "UNAUTHORIZED_ERROR", message });
  });
});

describe("401 says that there is no key", () => {
  test("for an empty header", async () => {
    expect(await authorize("")).toEqual({ httpStatus: 401, message: MISSING });
  });

  test("when the key is in the query or in another header", async () => {
    const answer = await get(caller.client, `/v1/me?api_key=${caller.apiKey}&key=${caller.apiKey}`, {
      authorization: null,
      "x-api-key": caller.apiKey,
      cookie: `promptd=${caller.apiKey}`,
    });
    expect(answer.httpStatus).toBe(401);
    expect(errorOf(answer).message).toBe(MISSING);
  });
});

describe("401 says that the key is not valid, in one constant text", () => {
  test.each([
    ["of another service", () => "sk-abcdefghijklmnopqrstuvwxyz0123456789"],
    ["too short", () => caller.apiKey.slice(0, -1)],
    ["too long", () => `${caller.apiKey}a`],
    ["with a typo", () => swapTwo(caller.apiKey)],
    ["in the wrong case", () => `pd_${caller.apiKey.slice(3).toUpperCase()}`],
    ["with a NUL escape", () => `${caller.apiKey.slice(0, -3)}%00`],
  ])("%s", async (_, key) => {
    expect(await authorize(`Bearer ${key()}`)).toEqual({ httpStatus: 401, message: INVALID });
  });

  function swapTwo(key: string): string {
    const at = Array.from(key, (char, i) => i > 3 && char !== key[i + 1]).indexOf(true);
    return key.slice(0, at) + key.charAt(at + 1) + key.charAt(at) + key.slice(at + 2);
  }
});

describe("revoking a key", () => {
  test("leaves the account's other keys alone", async () => {
    const second = await server.createKey(caller.accountId);
    await server.revokeKey(caller.keyId);
    expect((await get(caller.client, "/v1/me")).httpStatus).toBe(401);
    expect((await get(second.client, "/v1/me")).httpStatus).toBe(200);
  });

  test("is reported with its date, and only to callers who have the key", async () => {
    await server.revokeKey(caller.keyId);
    const { message } = await authorize(`Bearer ${caller.apiKey}`);
    expect(message).toBe(`This API key was revoked on ${new Date().toISOString().slice(0, 10)}.`);
    expect((await authorize(`Bearer ${caller.apiKey.slice(0, -1)}`)).message).toBe(INVALID);
  });

  test("applies to the next request: a wait in progress is answered, and the run stays the account's", async () => {
    const { promptVersionId } = await server.publish(promptFile({ body: "sandbox: delay=900\nA text." }));
    const second = await server.createKey(caller.accountId);
    const waiting = caller.client.runs.create(bodyOf(promptVersionId));
    await eventually(async () => expect((await second.client.runs.list({ status: "running" })).rows).toHaveLength(1));
    await server.revokeKey(caller.keyId);
    expect((await get(caller.client, "/v1/me")).httpStatus).toBe(401);
    const run = await waiting;
    expect(run.runStatus).toBe("succeeded");
    expect(await second.client.runs.get(run.runId)).toEqual(run);
  });

  test("with an ended plan is still 401: an unknown caller learns nothing about plans", async () => {
    await server.endPlan(caller.accountId);
    await server.revokeKey(caller.keyId);
    expect((await authorize(`Bearer ${caller.apiKey}`)).httpStatus).toBe(401);
  });
});

test("a request to /v1/ without a key gets JSON at once, as reachability tests expect", async () => {
  const answer = await get(caller.client, "/v1/", { authorization: null });
  expect(answer.httpStatus).toBe(401);
  expect(errorOf(answer).status).toBe("UNAUTHORIZED_ERROR");
});

test("many failures from one address become 429, which does not affect a valid key", async () => {
  // Few enough that a busy machine is asked more often in a second.
  const perSecond = 2;
  const guarded = await startTestServer({ httpLimits: { failedAdmissionsPerSecond: perSecond } });
  try {
    const good = await guarded.createCaller();
    const failing = () => get(good.client, "/v1/me", { authorization: "Bearer wrong" });
    const answers = await Promise.all(Array.from({ length: 120 }, failing));
    const denied = answers.filter(({ httpStatus }) => httpStatus === 429);
    expect(answers.length - denied.length).toBeGreaterThanOrEqual(perSecond);
    expect(denied.length).toBeGreaterThan(0);
    expect(denied[0]?.headers.get("retry-after")).toBe("1");
    expect((await get(good.client, "/v1/me")).httpStatus).toBe(200);
  } finally {
    await guarded.close();
  }
});

test("a key that is revoked while the body of its create is being sent creates nothing", async () => {
  const { promptVersionId } = await server.publish(promptFile());
  const { accountId, keyId, apiKey } = caller;
  const body = JSON.stringify(bodyOf(promptVersionId));
  const outgoing = request(`${server.url}/v1/runs`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", "content-length": body.length },
  });
  outgoing.write(body.slice(0, 20));
  const admitted = () => server.app.db.query("select 1 from rate_rings where scope_id = $1", [accountId]);
  await until(async () => (await admitted()).length === 1);
  await server.revokeKey(keyId);
  outgoing.end(body.slice(20));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(401);
  expect(response.headers["www-authenticate"]).toBe("Bearer");
  expect(await json(response)).toMatchObject({
    status: "UNAUTHORIZED_ERROR",
    message: expect.stringMatching(/^This API key was revoked on \d{4}-\d\d-\d\d\.$/),
  });
  expect(await server.app.db.query("select 1 from runs where account_id = $1", [accountId])).toEqual([]);
});
