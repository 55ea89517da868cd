/** Credits are held when a run is created, and a run that cannot be paid is never created (specification, "Errors", 402). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { directedPrompt, imagePrompt, promptFile } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, get, issueLines, postRun, runOf, startRun } from "./requests.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

/** Image runs of the given quality hold exactly their price: 2, 4 or 8. */
async function imageVersion(): Promise<string> {
  return (await server.publish(imagePrompt())).promptVersionId;
}

describe("a run that costs more than can be spent", () => {
  test("is 402 with what it needs and what is available", async () => {
    const { client } = await server.createCaller({ credits: 3 });
    const answer = await postRun(client, bodyOf(await imageVersion()));
    expect(answer.httpStatus).toBe(402);
    expect(errorOf(answer)).toEqual({
      status: "PAYMENT_REQUIRED_ERROR",
      message: "This run needs 4 credits, but only 3 are available. Ask an operator of this server for more credits.",
      data: { reason: "INSUFFICIENT_CREDITS", required: 4, available: 3, estimated: 4 },
    });
    expect(answer.headers.get("x-should-retry")).toBe("false");
  });

  test("is not created, and holds nothing", async () => {
    const { client, accountId } = await server.createCaller({ credits: 3 });
    await postRun(client, bodyOf(await imageVersion()));
    expect(await client.runs.list()).toEqual({ rows: [], hasMore: false });
    expect(await client.me.credits()).toEqual({ credits: 3 });
    expect(await server.app.db.query("select 1 from credit_holds where account_id = $1", [accountId])).toEqual([]);
  });

  test("is 402 without any credits ever granted, available 0", async () => {
    const { client } = await server.createCaller({ credits: 0 });
    const answer = await postRun(client, bodyOf(await imageVersion()));
    expect(errorOf(answer).data).toEqual({ reason: "INSUFFICIENT_CREDITS", required: 4, available: 0, estimated: 4 });
  });

  test("may be affordable with another option", async () => {
    const { client } = await server.createCaller({ credits: 3 });
    const body = { ...bodyOf(await imageVersion()), runOptions: { quality: "low" } };
    expect(runOf(await postRun(client, body))).toMatchObject({ runStatus: "succeeded", tokens: 2 });
    expect(await client.me.credits()).toEqual({ credits: 1 });
  });
});

describe("what a prompt's config says about its price", () => {
  const FIELDS = "inputs: { topic: {} }\nmaxOutputTokens: 2048";

  test("is enough to create a run, to the credit, and the refusal names both the need and the usual price", async () => {
    const { promptVersionId } = await server.publish(
      promptFile({ fields: FIELDS, body: "Write about {{ topic }}. ".repeat(20) }),
    );
    const rich = await server.createCaller({ credits: 2 });
    const { config } = await rich.client.promptVersions.get(promptVersionId);
    expect(config).toMatchObject({ estimatedCredits: 1, creditsRequired: 2 });
    const body = bodyOf(promptVersionId, { topic: "x".repeat(500) });
    expect(runOf(await postRun(rich.client, body)).runStatus).toBe("succeeded");
    const { client } = await server.createCaller({ credits: 1 });
    expect(errorOf(await postRun(client, body))).toEqual({
      status: "PAYMENT_REQUIRED_ERROR",
      message:
        "This run needs 2 credits, but only 1 is available. It usually costs 1; unused credits are returned. Ask an operator of this server for more credits.",
      data: { reason: "INSUFFICIENT_CREDITS", required: 2, available: 1, estimated: 1 },
    });
  });

  test("is 0 and 0 where the model is free", async () => {
    const { promptVersionId } = await server.publish(promptFile({ model: "sandbox/text-free" }));
    const { client } = await server.createCaller({ credits: 0 });
    const { config } = await client.promptVersions.get(promptVersionId);
    expect(config).toMatchObject({ estimatedCredits: 0, creditsRequired: 0 });
  });
});

describe("a frozen account", () => {
  const FROZEN = {
    status: "PAYMENT_REQUIRED_ERROR",
    message:
      "This account is frozen. It keeps its credits but cannot start runs that cost credits. Ask the operator of this server to check the account.",
    data: { reason: "ACCOUNT_FROZEN" },
  };
  async function createFrozenCaller(credits: number) {
    const caller = await server.createCaller({ credits });
    await server.app.db.query("select credit_freeze($1, 'a test')", [caller.accountId]);
    return caller;
  }

  test.each([
    ["enough credits", 9_999],
    ["too few credits", 1],
    ["no credits", 0],
  ])("with %s is 402 that says so, and holds nothing", async (_, credits) => {
    const { client, accountId } = await createFrozenCaller(credits);
    const answer = await postRun(client, bodyOf(await imageVersion()));
    expect(answer.httpStatus).toBe(402);
    expect(errorOf(answer)).toEqual(FROZEN);
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(await client.me.credits()).toEqual({ credits });
    expect(await server.app.db.query("select 1 from credit_holds where account_id = $1", [accountId])).toEqual([]);
  });

  test("spends its credits again once it is unfrozen", async () => {
    const { client, accountId } = await createFrozenCaller(4);
    await server.app.db.query("update credit_accounts set frozen_at = null where account_id = $1", [accountId]);
    expect(runOf(await postRun(client, bodyOf(await imageVersion()))).tokens).toBe(4);
  });
});

test("the last credit can be spent", async () => {
  const { client } = await server.createCaller({ credits: 4 });
  expect(runOf(await postRun(client, bodyOf(await imageVersion()))).tokens).toBe(4);
  expect(await client.me.credits()).toEqual({ credits: 0 });
});

test("credits held by runs in progress cannot be spent twice, and do not count as available", async () => {
  const caller = await server.createCaller({ credits: 5 });
  const slow = await server.publish(imagePrompt({ body: "sandbox: delay=600000\nA square." }));
  const runId = await startRun(caller.client, bodyOf(slow.promptVersionId));
  expect(await caller.client.me.credits()).toEqual({ credits: 1 });
  const answer = await postRun(caller.client, bodyOf(await imageVersion()));
  expect(errorOf(answer)).toMatchObject({
    message: "This run needs 4 credits, but only 1 is available. Ask an operator of this server for more credits.",
    data: { reason: "INSUFFICIENT_CREDITS", required: 4, available: 1, estimated: 4 },
  });
  await caller.client.runs.cancel(runId);
  expect(await caller.client.me.credits()).toEqual({ credits: 5 });
});

test("of 20 concurrent runs, exactly as many are created as can be paid for", async () => {
  const { client } = await server.createCaller({ credits: 12 });
  const version = await imageVersion();
  const answers = await Promise.all(Array.from({ length: 20 }, () => postRun(client, bodyOf(version))));
  const statuses = Map.groupBy(answers, (answer) => answer.httpStatus);
  expect(statuses.get(200)).toHaveLength(3);
  expect(statuses.get(402)).toHaveLength(17);
  expect(await client.me.credits()).toEqual({ credits: 0 });
});

describe("expired credits", () => {
  test("cannot be spent, swept or not", async () => {
    const { client, accountId } = await server.createCaller({ credits: 1 });
    await server.grant(accountId, { amount: 100, expiresInSeconds: -1 });
    expect(await client.me.credits()).toEqual({ credits: 1 });
    const answer = await postRun(client, bodyOf(await imageVersion()));
    expect(errorOf(answer).data).toEqual({ reason: "INSUFFICIENT_CREDITS", required: 4, available: 1, estimated: 4 });
  });

  test("that a run held before they expired stay its own", async () => {
    const caller = await server.createCaller({ credits: 0 });
    await server.grant(caller.accountId, { amount: 10, expiresInSeconds: 3_600 });
    const gate = await server.publish(imagePrompt({ body: "sandbox: delay=1500\nA square." }));
    const runId = await startRun(caller.client, bodyOf(gate.promptVersionId));
    await server.app.db.query("update credit_grants set expires_at = promptd_now() where account_id = $1", [
      caller.accountId,
    ]);
    expect(await caller.client.me.credits()).toEqual({ credits: 0 });
    expect(await caller.client.runs.get(runId, { waitSeconds: 20 })).toMatchObject({
      runStatus: "succeeded",
      tokens: 4,
    });
    expect(await caller.client.me.credits()).toEqual({ credits: 0 });
  });
});

test("one credit is one credit", async () => {
  const { client } = await server.createCaller({ credits: 0 });
  const { promptVersionId } = await server.publish(promptFile({ fields: "maxOutputTokens: 100", body: "Hi" }));
  const answer = await postRun(client, bodyOf(promptVersionId));
  expect(errorOf(answer).message).toBe(
    "This run needs 1 credit, but only 0 are available. Ask an operator of this server for more credits.",
  );
});

test("inputs that could cost more than one run may hold are 422 that says so", async () => {
  const { client } = await server.createCaller({ credits: 1_000_000 });
  const strict = await server.startAnother("api", { PROMPTD_HOLD_MAX_CREDITS: "2" });
  const there = server.clientOf((await server.createCaller()).apiKey, strict.listenUrl ?? "");
  const { promptVersionId } = await server.publish(directedPrompt());
  const body = bodyOf(promptVersionId, { do: `tokens=9 ${" ".repeat(60_000)}` });
  const answer = await postRun(there, body);
  expect(answer.httpStatus).toBe(422);
  expect(issueLines(answer)).toEqual(["too_long body.inputs"]);
  expect(errorOf(answer).message).toMatch(
    /^With these inputs the run could cost \d+ credits, but a run on this server may hold at most 2\./,
  );
  expect((await postRun(client, body)).httpStatus).toBe(200);
});

describe("the plan", () => {
  test("is required on every endpoint: without a plan the balance cannot be read either", async () => {
    const { client } = await server.createCaller({ plan: "none", credits: 100 });
    expect((await get(client, "/v1/me/credits")).httpStatus).toBe(402);
  });

  test("with an end in the future is enough", async () => {
    const caller = await server.createCaller();
    await server.app.db.query("update accounts set pro_until = promptd_now() + interval '1 hour' where id = $1", [
      caller.accountId,
    ]);
    expect((await get(caller.client, "/v1/me")).httpStatus).toBe(200);
  });

  test("is not required if PROMPTD_PLANS is off", async () => {
    const open = await server.startAnother("api", { PROMPTD_PLANS: "off" });
    const { apiKey } = await server.createCaller({ plan: "none" });
    expect((await get(server.clientOf(apiKey, open.listenUrl ?? ""), "/v1/me")).httpStatus).toBe(200);
  });
});

test("above an account's active runs is 429 TOO_MANY_ACTIVE_RUNS, and leaves neither a run nor a hold", async () => {
  const few = await server.startAnother("api", { PROMPTD_ACTIVE_RUNS_MAX: "2" });
  const { apiKey, client } = await server.createCaller({ credits: 100 });
  const there = server.clientOf(apiKey, few.listenUrl ?? "");
  const slow = await server.publish(imagePrompt({ body: "sandbox: delay=600000\nA square." }));
  const ids = [
    await startRun(there, bodyOf(slow.promptVersionId)),
    await startRun(there, bodyOf(slow.promptVersionId)),
  ];
  const answer = await postRun(there, bodyOf(slow.promptVersionId));
  expect(answer.httpStatus).toBe(429);
  expect(errorOf(answer)).toEqual({
    status: "TOO_MANY_REQUESTS_ERROR",
    message: "This account already has 2 queued or running runs, the maximum. Wait for some to finish.",
    data: { reason: "TOO_MANY_ACTIVE_RUNS", limit: 2 },
  });
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(await client.me.credits()).toEqual({ credits: 92 });
  for (const runId of ids) await client.runs.cancel(runId);
  expect(await client.me.credits()).toEqual({ credits: 100 });
});

test("after everything above the ledger adds up", async () => {
  expect((await server.checkLedger()).mismatches).toEqual([]);
});
