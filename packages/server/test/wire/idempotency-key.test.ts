/** Idempotency-Key of POST /v1/runs: the same request twice is one run. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt, imagePrompt, photoPrompt, PNG_BASE64, textPrompt } from "../prompts/prompt-files.ts";
import { IN_THIS_DATABASE } from "../support/test-database.ts";
import { bodyOf, cancelRun, errorOf, issuesOf, postRun, runOf } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

let server: TestServer;
let caller: TestCaller;
let promptVersionId = "";

beforeAll(async () => {
  server = await startTestServer();
  ({ promptVersionId } = await server.publish(textPrompt()));
});
beforeEach(async () => {
  caller = await server.createCaller();
});
afterAll(() => server.close());

const KEY = { "idempotency-key": "order-17" };
const tea = () => bodyOf(promptVersionId, { topic: "tea" });
const runCount = async () => (await caller.client.runs.list({ limit: 50 })).rows.length;

describe("the same key and body", () => {
  test("return the same run, charged once, and report a replay", async () => {
    const first = await postRun(caller.client, tea(), KEY);
    const second = await postRun(caller.client, tea(), KEY);
    expect(runOf(second)).toEqual(runOf(first));
    expect(first.headers.has("idempotent-replayed")).toBe(false);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(await runCount()).toBe(1);
    expect(await caller.client.me.credits()).toEqual({ credits: 999 });
  });

  test("at the same moment return one run to both", async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = { "idempotency-key": `pair-${round}` };
      const answers = await Promise.all(Array.from({ length: 4 }, () => postRun(caller.client, tea(), key)));
      expect(new Set(answers.map((answer) => runOf(answer).runId)).size).toBe(1);
    }
    expect(await runCount()).toBe(5);
    expect(await caller.client.me.credits()).toEqual({ credits: 995 });
  });

  test("return one run to all three, at two processes, that found the key free before one of them took it", async () => {
    const { db } = server.app;
    const other = await server.startAnother("api");
    onTestFinished(() => other.close());
    const clients = [caller.client, caller.client, server.clientOf(caller.apiKey, other.listenUrl ?? "")];
    const { promptVersionId: free } = await server.publish(textPrompt({ model: "sandbox/text-free" }));
    /** One waits to take the key, the one of the other process for its account's turn: both have looked for the key. */
    const haveBothLooked = async () => {
      const [row] = await db.query<{ at_key: number; at_account: number }>(
        `select count(*) filter (where relation = 'idempotency_keys'::regclass) as at_key,
           count(*) filter (where locktype = 'advisory' and classid = 18019) as at_account
         from pg_locks where not granted and ${IN_THIS_DATABASE}`,
      );
      return row?.at_key === 1 && row.at_account === 1;
    };
    let hasMet = false;
    for (let round = 0; round < 50 && !hasMet; round += 1) {
      const key = { "idempotency-key": `free-${round}` };
      const { met, sent } = await db.tx(async (tx) => {
        await tx.query("lock table idempotency_keys in share row exclusive mode"); // reading goes on, taking a key does not
        const requests = clients.map((client) => postRun(client, bodyOf(free, { topic: "tea" }), key));
        const giveUpMs = performance.now() + 200; // they wait no longer than that for a lock
        let looked = false;
        while (!looked && performance.now() < giveUpMs) looked = await haveBothLooked();
        return { met: looked, sent: requests };
      });
      hasMet = met;
      const answers = await Promise.all(sent);
      expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([200, 200, 200]);
      expect(new Set(answers.map((answer) => runOf(answer).runId)).size).toBe(1);
      expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(2);
    }
    expect(hasMet).toBe(true);
  });

  test("at the same moment return one run to both if the credits are enough for only one", async () => {
    const { promptVersionId: image } = await server.publish(imagePrompt());
    for (let round = 0; round < 5; round += 1) {
      const poor = await server.createCaller({ credits: 4 });
      const answers = await Promise.all(Array.from({ length: 4 }, () => postRun(poor.client, bodyOf(image), KEY)));
      expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([200, 200, 200, 200]);
      expect(new Set(answers.map((answer) => runOf(answer).runId)).size).toBe(1);
    }
  });

  test("wait again for a run in progress", async () => {
    const { promptVersionId: slow } = await server.publish(directedPrompt());
    const body = bodyOf(slow, { do: "delay=1000" });
    const early = await postRun(caller.client, body, { ...KEY, prefer: "wait=0" });
    expect(early.httpStatus).toBe(504);
    const late = await postRun(caller.client, body, KEY);
    expect(late.httpStatus).toBe(200);
    expect(runOf(late).runId).toBe((errorOf(early).data as { runId: string }).runId);
  });

  test("honor Prefer on a repeat: 200 if the run is final, 202 while it is not", async () => {
    const { promptVersionId: slow } = await server.publish(directedPrompt());
    const body = bodyOf(slow, { do: "delay=600000" });
    const prefer = "respond-async";
    const first = await postRun(caller.client, body, { ...KEY, prefer });
    const second = await postRun(caller.client, body, { ...KEY, prefer });
    expect([first.httpStatus, second.httpStatus]).toEqual([202, 202]);
    await cancelRun(caller.client, runOf(first).runId);
    const third = await postRun(caller.client, body, { ...KEY, prefer });
    expect(third.httpStatus).toBe(200);
    expect(runOf(third)).toMatchObject({ runId: runOf(first).runId, runStatus: "failed" });
  });

  test("find the run after the prompt was unpublished", async () => {
    const prompt = await server.publish(textPrompt());
    const body = bodyOf(prompt.promptVersionId, { topic: "tea" });
    const first = await postRun(caller.client, body, KEY);
    await server.unpublish(prompt.promptId);
    expect(runOf(await postRun(caller.client, body, KEY)).runId).toBe(runOf(first).runId);
    expect((await postRun(caller.client, body)).httpStatus).toBe(404);
  });

  test("find the run after the credits were spent", async () => {
    const poor = await server.createCaller({ credits: 4 });
    const { promptVersionId: image } = await server.publish(imagePrompt());
    const first = await postRun(poor.client, bodyOf(image), KEY);
    expect(await poor.client.me.credits()).toEqual({ credits: 0 });
    expect(runOf(await postRun(poor.client, bodyOf(image), KEY)).runId).toBe(runOf(first).runId);
  });

  test("are 402 after the plan lapsed", async () => {
    await postRun(caller.client, tea(), KEY);
    await server.endPlan(caller.accountId);
    expect((await postRun(caller.client, tea(), KEY)).httpStatus).toBe(402);
  });

  test("work with every key of the account, and not in another account", async () => {
    const first = await postRun(caller.client, tea(), KEY);
    const second = await server.createKey(caller.accountId);
    expect(runOf(await postRun(second.client, tea(), KEY)).runId).toBe(runOf(first).runId);
    const other = await server.createCaller();
    const own = await postRun(other.client, tea(), KEY);
    expect(runOf(own).runId).not.toBe(runOf(first).runId);
    expect(own.headers.has("idempotent-replayed")).toBe(false);
  });

  test("are forgotten after 24 hours", async () => {
    const first = await postRun(caller.client, tea(), KEY);
    await server.shiftTime(24 * 3_600 + 1);
    const second = await eventually(async () => {
      const answer = await postRun(caller.client, tea(), { ...KEY, prefer: "respond-async" });
      expect(answer.httpStatus).toBeLessThan(300);
      return answer;
    });
    expect(runOf(second).runId).not.toBe(runOf(first).runId);
    await server.shiftTime(0);
  });
});

describe("what makes two bodies the same", () => {
  const equal: readonly [string, () => unknown][] = [
    ["the case of the id", () => ({ ...tea(), promptVersionId: promptVersionId.toUpperCase() })],
    ["ignored fields", () => ({ ...tea(), runModel: "x", note: 1 })],
    [
      "empty and null options and images",
      () => ({ ...tea(), runOptions: null, inputs: { ...tea().inputs, imageInputs: [] } }),
    ],
    ["the order of members", () => ({ inputs: tea().inputs, promptVersionId })],
  ];
  test.each(equal)("%s does not count", async (_, body) => {
    const first = await postRun(caller.client, tea(), KEY);
    expect(runOf(await postRun(caller.client, body(), KEY)).runId).toBe(runOf(first).runId);
  });

  test("the order of text keys does not count", async () => {
    const one = { promptVersionId, inputs: { textInputs: { topic: "tea", tone: "calm" } } };
    const two = { promptVersionId, inputs: { textInputs: { tone: "calm", topic: "tea" } } };
    const first = await postRun(caller.client, one, KEY);
    expect(runOf(await postRun(caller.client, two, KEY)).runId).toBe(runOf(first).runId);
  });

  const other: readonly [string, () => unknown][] = [
    ["another text", () => bodyOf(promptVersionId, { topic: "coffee" })],
    ["an option", () => ({ ...tea(), runOptions: { reasoningEffort: "low" } })],
    ["another version", () => bodyOf("11111111-1111-1111-1111-111111111111", { topic: "tea" })],
    ["another key, though the prompt ignores it", () => bodyOf(promptVersionId, { topic: "tea", extra: "x" })],
  ];
  test.each(other)("%s is 422 conflict at the header", async (_, body) => {
    await postRun(caller.client, tea(), KEY);
    const answer = await postRun(caller.client, body(), KEY);
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([
      {
        path: ["header", "Idempotency-Key"],
        code: "conflict",
        message: "This Idempotency-Key was already used with a different request.",
      },
    ]);
    expect(await runCount()).toBe(1);
  });

  test("another image is another body", async () => {
    const { promptVersionId: photo } = await server.publish(photoPrompt(1));
    const withImage = (base64: string) => ({
      promptVersionId: photo,
      inputs: { imageInputs: [{ type: "base64", base64 }] },
    });
    const first = await postRun(caller.client, withImage(PNG_BASE64), KEY);
    expect(runOf(await postRun(caller.client, withImage(PNG_BASE64), KEY)).runId).toBe(runOf(first).runId);
    const wider = Buffer.concat([Buffer.from(PNG_BASE64, "base64"), Buffer.from([0])]).toString("base64");
    expect((await postRun(caller.client, withImage(wider), KEY)).httpStatus).toBe(422);
  });
});

describe("errors are never stored: the key is free for a corrected request", () => {
  test("after a 422 for the config, a 404, and a 402", async () => {
    const poor = await server.createCaller({ credits: 0 });
    const failures = [
      await postRun(poor.client, bodyOf(promptVersionId), KEY),
      await postRun(poor.client, bodyOf("11111111-1111-1111-1111-111111111111"), KEY),
      await postRun(poor.client, tea(), KEY),
    ];
    expect(failures.map(({ httpStatus }) => httpStatus)).toEqual([422, 404, 402]);
    await server.grant(poor.accountId, { amount: 1_000 });
    const answer = await postRun(poor.client, bodyOf(promptVersionId, { topic: "coffee" }), KEY);
    expect(answer.httpStatus).toBe(200);
    expect(answer.headers.has("idempotent-replayed")).toBe(false);
  });

  test("a failed run is an accepted run, and the key stays used", async () => {
    const { promptVersionId: version } = await server.publish(directedPrompt());
    const first = await postRun(caller.client, bodyOf(version, { do: "refuse" }), KEY);
    expect(runOf(first).runStatus).toBe("failed");
    expect(runOf(await postRun(caller.client, bodyOf(version, { do: "refuse" }), KEY))).toEqual(runOf(first));
  });
});

describe("the form of the key", () => {
  test.each(["a", "x".repeat(255), "!~\"#$%&'()*+,-./:;<=>?@[]^_`{|}"])("%s is accepted", async (key) => {
    const headers = { "idempotency-key": key };
    const first = await postRun(caller.client, tea(), headers);
    expect(runOf(await postRun(caller.client, tea(), headers)).runId).toBe(runOf(first).runId);
  });

  test.each(["", "x".repeat(256), "two words", "t\u00e9a"])("%s is 400", async (key) => {
    const answer = await postRun(caller.client, tea(), { "idempotency-key": key });
    expect(answer.httpStatus).toBe(400);
    expect(errorOf(answer).message).toBe("Idempotency-Key must be 1 to 255 visible ASCII characters without spaces.");
    expect(await runCount()).toBe(0);
  });

  test("is ignored on other endpoints", async () => {
    const headers = { "idempotency-key": "two words" };
    expect((await caller.client.request({ method: "GET", path: "/v1/me", headers })).httpStatus).toBe(200);
  });

  test("without a key, every request creates its own run", async () => {
    const [one, two] = [await postRun(caller.client, tea()), await postRun(caller.client, tea())];
    expect(runOf(one).runId).not.toBe(runOf(two).runId);
  });
});

test("the client's own random key makes a run once", async () => {
  const run = await caller.client.runs.create(tea());
  expect(run.runStatus).toBe("succeeded");
  const [stored] = await server.app.db.query<{ key: string }>("select key from idempotency_keys where run_id = $1", [
    run.runId,
  ]);
  expect(stored?.key).toMatch(/^[0-9a-f]{32}$/);
});

test("after everything above the ledger adds up", async () => {
  expect((await server.checkLedger()).mismatches).toEqual([]);
});
