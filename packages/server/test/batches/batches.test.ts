/** POST /v1/batches and what follows: many runs of one prompt, each created once. */
import type { Batch, BatchResult } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { firstIdOfMs, idTimeMs } from "../../src/platform/ids.ts";
import { BATCHES_OF_REQUESTS } from "../../src/runs/read/batch-of-runs-store.ts";
import { createTestPerson } from "../people/people-fixture.ts";
import { directedPrompt, imagePrompt, photoPrompt, PNG_BASE64, textPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { bodyOf, dataOf, errorOf, get, issuesOf, RANDOM_ID, withoutId } from "../wire/requests.ts";
import { eventually } from "../support/eventually.ts";

let server: TestServer;
let caller: TestCaller;
/** Its one input decides what the sandbox does. */
let directed = "";
let text = "";

beforeAll(async () => {
  server = await startTestServer();
  ({ promptVersionId: directed } = await server.publish(directedPrompt()));
  ({ promptVersionId: text } = await server.publish(textPrompt()));
  caller = await server.createCaller();
});
afterAll(() => server.close());

const item = (behavior: string, key?: string) => ({ inputs: { textInputs: { do: behavior } }, key });

async function resultsOf(client: TestCaller["client"], batchId: string): Promise<BatchResult[]> {
  const results: BatchResult[] = [];
  for await (const result of client.batches.results(batchId)) results.push(result);
  return results;
}

/** Polls until the batch is in the wanted state. */
function becomes(client: TestCaller["client"], batchId: string, wanted: Partial<Batch>): Promise<Batch> {
  return eventually(async () => {
    const batch = await client.batches.get(batchId);
    expect(batch).toMatchObject(wanted);
    return batch;
  });
}

describe("a batch", () => {
  test("runs each of its items once, and returns their results in order, as JSON lines and as CSV", async () => {
    const words = ["tokens=5", "refuse", "tokens=3", "tokens=9", "delay=150 tokens=2", "tokens=4"];
    const created = await caller.client.batches.create({
      promptVersionId: directed,
      items: words.map((word, index) => item(word, `=k${index}`)),
      name: "words.csv",
    });
    expect(created).toMatchObject({ name: "words.csv", batchStatus: "running", pause: null, finishedAt: null });
    expect(created.counts).toMatchObject({ total: 6 });
    const finished = await caller.client.batches.wait(created.batchId, { pollMs: 50 });
    expect(finished).toMatchObject({
      batchStatus: "finished",
      counts: { total: 6, notStarted: 0, queued: 0, running: 0, succeeded: 5, failed: 1, canceled: 0 },
    });
    const results = await resultsOf(caller.client, created.batchId);
    expect(results.map(({ index, key, status }) => [index, key, status])).toEqual(
      words.map((word, index) => [index, `=k${index}`, word === "refuse" ? "failed" : "succeeded"]),
    );
    const runs = await Promise.all(results.map(({ runId }) => caller.client.runs.get(runId ?? "")));
    expect(results.map(({ outputs }) => outputs)).toEqual(runs.map(({ outputs }) => outputs));
    expect(finished.credits).toBe(runs.reduce((sum, { tokens }) => sum + tokens, 0));
    const { rows } = await caller.client.runs.list({ limit: 50 });
    expect(new Set(rows.map(({ runId }) => runId))).toEqual(new Set(results.map(({ runId }) => runId)));

    let csv = "";
    for await (const piece of caller.client.batches.resultsAsCsv(created.batchId)) csv += piece;
    const lines = csv.split("\r\n");
    expect(lines[0]).toBe("index,key,status,runId,credits,text,files,error");
    expect(lines.at(-1)).toBe("");
    expect(csv).toContain(`\r\n1,'=k1,failed,${results[1]?.runId},0,,,`);
    const behind = caller.client.batches.results(created.batchId, { startingAfter: 3 });
    expect((await Array.fromAsync(behind)).map(({ index }) => index)).toEqual([4, 5]);
    expect((await server.checkLedger()).mismatches).toEqual([]);
  });
});

test("an item that several processes start at once gets one run, and the others leave no hold", async () => {
  const { client, accountId } = await server.createCaller();
  const workers = await Promise.all([server.startAnother("worker"), server.startAnother("worker")]);
  const items = Array.from({ length: 60 }, (_, i) => item(`delay=${i % 3} tokens=1`));
  const { batchId } = await client.batches.create({ promptVersionId: directed, items });
  const { db } = server.app;
  await eventually(async () => {
    // Each process wins a shift while another's shift is still going on.
    await db.query("update cron_ticks set next_at = promptd_now() where name = 'batches'");
    expect((await client.batches.get(batchId)).batchStatus).toBe("finished");
  });
  const [counted] = await db.query(
    `select (select count(*)::int from runs where account_id = $1) as runs,
       (select count(distinct run_id)::int from batch_items where account_id = $1) as items,
       (select count(*)::int from credit_holds where account_id = $1 and state = 'held') as held`,
    [accountId],
  );
  expect(counted).toEqual({ runs: 60, items: 60, held: 0 });
  await Promise.all(workers.map((worker) => worker.close())); // one process never starts more than the window
  expect((await server.checkLedger()).mismatches).toEqual([]);
});

describe("items that cannot be run", () => {
  test("are all reported with their index, and nothing is created", async () => {
    const { client } = await server.createCaller();
    const body = {
      promptVersionId: text,
      items: [
        { inputs: { textInputs: { topic: "tea" } }, key: "a" },
        { inputs: { textInputs: { tpoic: "tea" } } },
        { inputs: { textInputs: { topic: "rain" } }, key: "a" },
      ],
    };
    const formed = await client.request({ method: "POST", path: "/v1/batches", body });
    expect(formed.httpStatus).toBe(422);
    expect(issuesOf(formed)).toEqual([
      {
        path: ["body", "items", 2, "key"],
        code: "conflict",
        message: 'items[0] already has the key "a". Give each item its own key.',
      },
    ]);
    const fitted = await client.request({
      method: "POST",
      path: "/v1/batches",
      body: { ...body, items: body.items.slice(0, 2) },
    });
    expect(issuesOf(fitted)).toEqual([
      {
        path: ["body", "items", 1, "inputs", "textInputs", "topic"],
        code: "required",
        message: 'Text input "topic" is required. The prompt has no input "tpoic". Did you mean "topic"?',
      },
    ]);
    expect(errorOf(fitted).message).toBe(
      '1 of 2 items cannot be run. The first: items[1]: Text input "topic" is required. The prompt has no input "tpoic". Did you mean "topic"?',
    );
    expect(errorOf(fitted).data).toHaveProperty("invalidItems", 1);
    expect(fitted.headers.get("x-ignored")).toBe("items.textInputs.tpoic");
    expect(await client.batches.list()).toEqual({ rows: [], hasMore: false });
  });

  test.each([
    ["no items", {}, "required body.items", "items is required."],
    ["an empty list", { items: [] }, "required body.items", "items is empty. Provide 1 to 10,000 items."],
    ["no list", { items: "a" }, "invalid_type body.items", "items must be an array, got a string."],
    [
      "a text as an item",
      { items: ["a"] },
      "invalid_type body.items.0",
      "An item must be an object with inputs, got a string.",
    ],
    ["an item without inputs", { items: [{}] }, "required body.items.0.inputs", "inputs is required."],
    [
      "too many items",
      { items: Array.from({ length: 10_001 }, () => 1) },
      "too_many body.items",
      "items has 10,001 items; at most 10,000 are accepted.",
    ],
    [
      "an option that the model does not support, reported once",
      { items: [item("tokens=1"), item("tokens=1")], runOptions: { size: "x" } },
      "unsupported_option body.runOptions.size",
      '"size" is not a run option of the model sandbox/text.',
    ],
  ])("%s", async (_, body, line, message) => {
    const answer = await caller.client.request({
      method: "POST",
      path: "/v1/batches",
      body: { promptVersionId: directed, ...body },
    });
    const issues = issuesOf(answer);
    expect(issues.map(({ code, path }) => `${code} ${path.join(".")}`)).toEqual([line]);
    expect(issues[0]?.message).toContain(message);
  });

  test("with images are checked like those of a single run, and valid ones reach the model", async () => {
    const { promptVersionId } = await server.publish(photoPrompt(1));
    const image = (base64: string) => ({ inputs: { imageInputs: [{ type: "base64" as const, base64 }] } });
    const body = { promptVersionId, items: [image(PNG_BASE64), image("AAAA"), { inputs: {} }] };
    const answer = await caller.client.request({ method: "POST", path: "/v1/batches", body });
    expect(issuesOf(answer)).toEqual([
      {
        path: ["body", "items", 1, "inputs", "imageInputs", 0, "base64"],
        code: "invalid_image",
        message: "Image 1 is not a PNG, JPEG, WebP, or GIF image.",
      },
    ]);
    const counted = await caller.client.request({
      method: "POST",
      path: "/v1/batches",
      body: { ...body, items: [image(PNG_BASE64), { inputs: {} }] },
    });
    expect(issuesOf(counted).map(({ code, path }) => `${code} ${path.join(".")}`)).toEqual([
      "image_count body.items.1.inputs.imageInputs",
    ]);
    const finished = await caller.client.runBatch(promptVersionId, [{ images: [Buffer.from(PNG_BASE64, "base64")] }]);
    expect(finished.counts).toMatchObject({ total: 1, succeeded: 1 });
    const [result] = await Array.fromAsync(finished.results());
    expect(result?.outputs.map(({ type }) => type)).toEqual(["image"]);
  });
});

describe("an idempotency key", () => {
  const post = (client: TestCaller["client"], body: unknown, key: string) =>
    client.request({ method: "POST", path: "/v1/batches", body, headers: { "idempotency-key": key } });

  test("makes one batch of a request that is sent twice, even concurrently, and rejects a different request", async () => {
    const { client } = await server.createCaller();
    const body = { promptVersionId: directed, items: [item("tokens=1"), item("tokens=2")] };
    const answers = await Promise.all([1, 2, 3].map(() => post(client, body, "same")));
    const batches = answers.map((answer) => dataOf(answer) as Batch);
    expect(new Set(batches.map(({ batchId }) => batchId)).size).toBe(1);
    expect(answers.filter(({ httpStatus }) => httpStatus === 201)).toHaveLength(1);
    for (const answer of answers) {
      expect(answer.headers.get("location")).toBe(`${server.url}/v1/batches/${batches[0]?.batchId}`);
      expect(answer.headers.get("idempotent-replayed")).toBe(answer.httpStatus === 200 ? "true" : null);
    }
    const other = await post(client, { ...body, items: [item("tokens=1")] }, "same");
    expect(errorOf(other).message).toBe("This Idempotency-Key was already used with a different request.");
    await becomes(client, batches[0]?.batchId ?? "", { batchStatus: "finished" });
    expect((await client.runs.list()).rows).toHaveLength(2);
    expect((await post(client, body, "same")).headers.get("idempotent-replayed")).toBe("true");
  });
});

test("people who manage the account see which batch a run belongs to", async () => {
  const person = await createTestPerson(server);
  await server.grant(person.accountId, { amount: 100 });
  await server.app.db.query("update accounts set pro_until = 'infinity' where id = $1", [person.accountId]);
  const { client } = await server.createKey(person.accountId);
  const items = [item("tokens=1")];
  const { batchId } = await client.batches.create({ promptVersionId: directed, items, name: "words.csv" });
  await client.batches.wait(batchId, { pollMs: 50 });
  const [result] = await resultsOf(client, batchId);
  const single = await client.run(directed, { inputs: { do: "tokens=1" } });
  const [ofBatch, alone] = await Promise.all(
    [result?.runId ?? "", single.runId].map((runId) => person.client.send("getRun", { params: { runId } })),
  );
  const batch = { batchId, name: "words.csv" };
  expect([ofBatch?.batch, alone?.batch]).toEqual([batch, null]);
  const listed = await person.client.send("listRuns");
  expect(listed.rows.map((row) => [row.runId, row.batch])).toEqual([
    [single.runId, null],
    [result?.runId, batch],
  ]);
  const included = await client.runs.list({ include: "batch" });
  expect(included.rows.map((row) => row.batch)).toEqual([null, batch]);
  expect((await client.runs.list()).rows.some((row) => "batch" in row)).toBe(false);
  const slip = client.runs.list({ include: "batches" as "batch" });
  await expect(slip).rejects.toThrow('include must be batch, got "batches".');
});

test("the batches of a page of runs are found without reading the account's other batches", async () => {
  const { db } = server.app;
  const { accountId, keyId } = await server.createCaller();
  // One batch a minute, for days.
  await db.query(
    `insert into batches (account_id, id, prompt_version_id, run_options, api_key_id, request_id, fingerprint, status, total, finished_at)
     select $1, id, $2, '{}', $3, id, sha256('x'), 'finished', 1, promptd_now() from (
       select (lpad(to_hex(1795000000000 + n * 60000), 12, '0') || '70008000000000000000')::uuid as id
       from generate_series(1, 10000) n) made`,
    [accountId, directed, keyId],
  );
  await db.query("analyze batches");
  const requests = await db.query<{ id: string }>("select id from batches where account_id = $1 order by id limit 50", [
    accountId,
  ]);
  const ids = requests.map(({ id }) => id);
  const ends = ids.map((id) => firstIdOfMs(idTimeMs(id) + 600_000));
  const [row] = await db.query<{ "QUERY PLAN": readonly [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${BATCHES_OF_REQUESTS.text}`,
    [ids.map(() => accountId), ids, ids.map((id) => firstIdOfMs(idTimeMs(id))), ends],
  );
  const plan = row?.["QUERY PLAN"][0].Plan ?? {};
  expect(plan["Actual Rows"]).toBe(50);
  expect(Number(plan["Shared Hit Blocks"]) + Number(plan["Shared Read Blocks"])).toBeLessThan(50 * 10); // the whole table has four times as many
});

describe("a cancel", () => {
  test("starts nothing more, cancels running items, and charges nothing for them", async () => {
    const { client } = await server.createCaller({ credits: 500 });
    const items = Array.from({ length: 100 }, () => item("delay=600000"));
    const { batchId } = await client.batches.create({ promptVersionId: directed, items });
    await eventually(async () => expect((await client.batches.get(batchId)).counts.running).toBe(25));
    const canceled = await client.batches.cancel(batchId);
    expect(canceled).toMatchObject({
      batchStatus: "canceled",
      counts: { queued: 0, running: 0, succeeded: 0, failed: 0 },
    });
    const { counts } = await becomes(client, batchId, { batchStatus: "canceled", credits: 0 });
    expect(counts.canceled + counts.notStarted).toBe(100);
    expect(counts.canceled).toBeGreaterThanOrEqual(25);
    expect(canceled.finishedAt).not.toBeNull();
    expect(await client.me.credits()).toEqual({ credits: 500 });
    const results = await resultsOf(client, batchId);
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: counts.canceled }, () => "canceled"));
    expect(await client.batches.cancel(batchId)).toEqual(canceled);
    const itemsWithInputs = "select 1 from batch_items where batch_id = $1 and inputs is not null";
    expect(await server.app.db.query(itemsWithInputs, [batchId])).toEqual([]);
  });
});

describe("a batch pauses, with the reason, and nothing more is started", () => {
  test.each([
    ["", "0 seconds"],
    [", also if the clock has stepped back by days since", "2 days"],
  ])("without credits, and resumes by itself when there are some%s", async (_, untilRetry) => {
    const { client, accountId } = await server.createCaller({ credits: 3 });
    const items = Array.from({ length: 8 }, () => item("tokens=1"));
    const { batchId } = await client.batches.create({ promptVersionId: directed, items });
    const paused = await becomes(client, batchId, { batchStatus: "paused" });
    expect(paused.pause).toMatchObject({ reason: "INSUFFICIENT_CREDITS" });
    expect(paused.pause?.message).toMatch(/^This run needs \d+ credits?, but only \d (is|are) available/);
    await server.grant(accountId, { amount: 1_000 });
    const retry = "update batches set retry_at = promptd_now() + $2::interval where id = $1"; // not in seconds
    await server.app.db.query(retry, [batchId, untilRetry]);
    const finished = await becomes(client, batchId, { batchStatus: "finished", pause: null });
    expect(finished.counts).toMatchObject({ total: 8, succeeded: 8 });
    const { credits } = await client.me.credits();
    expect(credits).toBe(1_003 - finished.credits);
  });

  test("when its key is revoked, until its owner resumes it with another key", async () => {
    const { client, accountId, keyId } = await server.createCaller();
    const items = Array.from({ length: 60 }, () => item("delay=100 tokens=1"));
    const { batchId } = await client.batches.create({ promptVersionId: directed, items });
    await eventually(async () => expect((await client.batches.get(batchId)).counts.succeeded).toBeGreaterThan(0));
    const other = await server.createKey(accountId);
    await server.revokeKey(keyId);
    const paused = await becomes(other.client, batchId, { batchStatus: "paused" });
    expect(paused.pause).toMatchObject({ reason: "KEY_NOT_VALID" });
    expect(paused.counts.notStarted).toBeGreaterThan(0);
    expect(await other.client.batches.resume(batchId)).toMatchObject({ batchStatus: "running", pause: null });
    await becomes(other.client, batchId, { batchStatus: "finished" });
    const keys = await server.app.db.query<{ n: number }>("select count(*) as n from runs where api_key_id = $1", [
      other.keyId,
    ]);
    expect(keys[0]?.n).toBeGreaterThan(0);
  });

  test.each([
    [
      "its prompt is unpublished",
      "PROMPT_NOT_FOUND",
      async (_: TestCaller, promptId: string) => server.unpublish(promptId),
    ],
    ["the plan of the account ends", "PLAN_LAPSED", async (one: TestCaller) => server.endPlan(one.accountId)],
  ])("when %s", async (_, reason, end) => {
    const { promptId, promptVersionId } = await server.publish(directedPrompt());
    const one = await server.createCaller();
    const items = Array.from({ length: 60 }, () => item("delay=200 tokens=1"));
    const { batchId } = await one.client.batches.create({ promptVersionId, items });
    await end(one, promptId);
    const read = async () =>
      (
        await server.app.db.query<{ reason: string }>("select pause_reason as reason from batches where id = $1", [
          batchId,
        ])
      )[0];
    await eventually(async () => expect(await read()).toEqual({ reason }));
  });
});

describe("beside a batch", () => {
  test("single runs of its own account and of other accounts find room at once, and batches of an account share a window", async () => {
    const [one, other] = await Promise.all([server.createCaller(), server.createCaller()]);
    const items = Array.from({ length: 60 }, () => item("delay=600000"));
    const { promptVersionId } = await server.publish(imagePrompt());
    const batches = [
      await one.client.batches.create({ promptVersionId: directed, items }),
      await one.client.batches.create({ promptVersionId: directed, items }),
    ];
    const all = () => Promise.all(batches.map(({ batchId }) => one.client.batches.get(batchId)));
    const running = (found: readonly Batch[]) => found.map(({ counts }) => counts.running);
    await eventually(async () => expect(running(await all()).reduce((sum, n) => sum + n, 0)).toBe(25));
    expect(Math.min(...running(await all()))).toBeGreaterThan(5); // in turns
    for (const { client } of [one, other]) {
      expect((await client.runs.create(bodyOf(directed, { do: "tokens=1" }))).runStatus).toBe("succeeded");
      expect((await client.runs.create(bodyOf(promptVersionId))).runStatus).toBe("succeeded");
    }
    expect(running(await all()).reduce((sum, n) => sum + n, 0)).toBe(25);
    for (const { batchId } of batches) await one.client.batches.cancel(batchId);
  });

  test("an account can have at most 20 unfinished batches", async () => {
    const { client, accountId } = await server.createCaller();
    await server.app.db.query("insert into run_limits (scope, max_running) values ('account:' || $1, 0)", [accountId]);
    const body = { promptVersionId: directed, items: [item("tokens=1")] };
    const created: string[] = [];
    for (let i = 0; i < 20; i += 1) created.push((await client.batches.create(body)).batchId);
    const refused = await client.request({ method: "POST", path: "/v1/batches", body });
    expect(refused.httpStatus).toBe(429);
    expect(errorOf(refused).data).toEqual({ reason: "TOO_MANY_BATCHES", limit: 20 });
    const page = await client.batches.list({ limit: 3 });
    expect(page.rows.map(({ batchId }) => batchId)).toEqual(created.toReversed().slice(0, 3));
    expect((await Array.fromAsync(client.batches.listAll({ limit: 7 }))).map(({ batchId }) => batchId)).toEqual(
      created.toReversed(),
    );
    for (const batchId of created) await client.batches.cancel(batchId);
    expect((await client.batches.create(body)).batchStatus).toBe("running");
  });
});

test("a HEAD request for results returns their headers, and a batch that does not exist is a 404", async () => {
  const { batchId } = await caller.client.batches.create({ promptVersionId: directed, items: [item("tokens=1")] });
  const head = await caller.client.request({
    method: "HEAD",
    path: `/v1/batches/${batchId}/results`,
    headers: { accept: "text/csv" },
  });
  expect([head.httpStatus, head.text, head.headers.get("content-type")]).toEqual([200, "", "text/csv; charset=utf-8"]);
  const missing = await get(caller.client, `/v1/batches/${RANDOM_ID}`);
  expect(errorOf(missing)).toEqual({
    status: "NOT_FOUND_ERROR",
    message: `No batch has the id ${RANDOM_ID}.`,
    data: null,
  });
  const wrong = await get(caller.client, `/v1/batches/${batchId}/results?startingAfter=-1`);
  expect(issuesOf(wrong)[0]?.message).toBe('startingAfter must be the index of an item, a number from 0, got "-1".');
  expect(withoutId(missing, RANDOM_ID).httpStatus).toBe(404);
});
