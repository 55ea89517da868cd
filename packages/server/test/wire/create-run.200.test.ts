/** A run that finishes inside the window: its payload, its price, its place in the list (specification, "POST /v1/runs"). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt, imagePrompt, promptFile, textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, dataOf, get, postRun, runOf } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller({ credits: 100_000 });
});
afterAll(() => server.close());

const credits = async () => (await caller.client.me.credits()).credits;

/** Journal rows of an account, oldest first. */
function journal(accountId: string): Promise<{ kind: string; amount: number }[]> {
  return server.app.db.query("select kind, amount from credit_transfers where account_id = $1 order by id", [
    accountId,
  ]);
}

describe("a text run", () => {
  test("answers exactly runId, outputs, runStatus and tokens", async () => {
    const { promptVersionId } = await server.publish(textPrompt());
    const answer = await postRun(caller.client, bodyOf(promptVersionId, { topic: "tea" }));
    expect(answer.httpStatus).toBe(200);
    expect(Object.keys(dataOf(answer) as object).toSorted()).toEqual(["outputs", "runId", "runStatus", "tokens"]);
    expect(runOf(answer)).toEqual({
      runId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      outputs: [{ type: "text", data: expect.stringContaining("Write about tea.") }],
      runStatus: "succeeded",
      tokens: 1,
    });
  });

  test("can be read later with the same payload, and is first in the list", async () => {
    const { promptVersionId } = await server.publish(textPrompt({ title: "Tea label" }));
    const run = await caller.client.runs.create(bodyOf(promptVersionId, { topic: "tea" }));
    expect(await caller.client.runs.get(run.runId)).toEqual(run);
    const [first] = (await caller.client.runs.list({ limit: 1 })).rows;
    expect(first).toEqual({
      runId: run.runId,
      promptVersionId,
      outputs: run.outputs,
      runStatus: "succeeded",
      credits: run.tokens,
      runName: "Tea label",
      createdAt: new Date(Number.parseInt(run.runId.replace("-", "").slice(0, 12), 16)).toISOString(),
    });
  });

  test("has the prompt's title at creation as its name, cut to 120 code points", async () => {
    const slug = "named-once";
    const { accountId: authorId } = await server.createCaller({ credits: 0 });
    const first = await server.publish(textPrompt({ slug, title: "🍵".repeat(120) }), { authorId });
    await caller.client.runs.create(bodyOf(first.promptVersionId, { topic: "tea" }));
    await server.publish(textPrompt({ slug, title: "Renamed" }), { authorId });
    expect((await caller.client.runs.list({ limit: 1 })).rows[0]?.runName).toBe("🍵".repeat(120));
  });
});

describe("the price of a run", () => {
  test("tokens, credits in the list, and what leaves the balance are one number, and the rest of the hold is released", async () => {
    const own = await server.createCaller({ credits: 1_000 });
    const fields = "inputs: { do: {} }\nmaxOutputTokens: 2048";
    const { promptVersionId } = await server.publish(directedPrompt({ fields }));
    const run = await own.client.runs.create(bodyOf(promptVersionId, { do: "tokens=2000 input=4000" }));
    // 4,000 input tokens at 0.1 and 2,000 output tokens at 0.5 per 1,000: 0.4 + 1.0, rounded up.
    expect(run.tokens).toBe(2);
    expect((await own.client.runs.list()).rows[0]?.credits).toBe(2);
    expect((await own.client.me.credits()).credits).toBe(998);
    const rows = await journal(own.accountId);
    const hold = rows[1]?.amount ?? 0;
    expect(hold).toBeGreaterThanOrEqual(2);
    expect(rows).toEqual([
      { kind: "grant", amount: 1_000 },
      { kind: "hold", amount: hold },
      { kind: "capture", amount: 2 },
      ...(hold > 2 ? [{ kind: "release", amount: hold - 2 }] : []),
    ]);
  });

  test("is never more than the hold, whatever the provider reports", async () => {
    const own = await server.createCaller({ credits: 1_000 });
    const { promptVersionId } = await server.publish(directedPrompt());
    const run = await own.client.runs.create(bodyOf(promptVersionId, { do: "input=900000000" }));
    const hold = (await journal(own.accountId)).find(({ kind }) => kind === "hold")?.amount;
    expect(run.tokens).toBe(hold);
    expect((await own.client.me.credits()).credits).toBe(1_000 - run.tokens);
  });

  test("is at least 1 when the run is not free", async () => {
    const { promptVersionId } = await server.publish(promptFile({ body: "Hi" }));
    expect((await caller.client.runs.create(bodyOf(promptVersionId))).tokens).toBe(1);
  });

  test("is 0 for a failed run, and the whole hold comes back", async () => {
    const { promptVersionId } = await server.publish(directedPrompt());
    const before = await credits();
    const answer = await postRun(caller.client, bodyOf(promptVersionId, { do: "refuse" }));
    expect(answer.httpStatus).toBe(200);
    expect(runOf(answer)).toMatchObject({ runStatus: "failed", tokens: 0 });
    expect(runOf(answer).outputs).toEqual([
      { type: "error", data: "The model declined this request. Change the inputs." },
    ]);
    expect((await caller.client.runs.list({ limit: 1 })).rows[0]).toMatchObject({ runStatus: "failed", credits: 0 });
    expect(await credits()).toBe(before);
  });
});

describe("a free run", () => {
  async function expectFree(own: TestCaller, promptVersionId: string) {
    const run = await own.client.runs.create(bodyOf(promptVersionId));
    return { run, row: (await own.client.runs.list({ limit: 1 })).rows[0], journal: await journal(own.accountId) };
  }

  test("of a model without a price has tokens 0, credits null and no line in the ledger, even with no credits", async () => {
    const own = await server.createCaller({ credits: 0 });
    const { promptVersionId } = await server.publish(promptFile({ model: "sandbox/text-free" }));
    const { run, row, journal: lines } = await expectFree(own, promptVersionId);
    expect(run).toMatchObject({ runStatus: "succeeded", tokens: 0 });
    expect(row).toMatchObject({ runStatus: "succeeded", credits: null });
    expect(lines).toEqual([]);
  });

  test("of an author's own prompt is the same only for the author", async () => {
    const own = await server.createCaller({ credits: 0 });
    const { promptVersionId } = await server.publish(promptFile(), { authorId: own.accountId });
    const { run, row, journal: lines } = await expectFree(own, promptVersionId);
    expect(run).toMatchObject({ runStatus: "succeeded", tokens: 0 });
    expect(row).toMatchObject({ credits: null });
    expect(lines).toEqual([]);
    expect((await caller.client.runs.create(bodyOf(promptVersionId))).tokens).toBe(1);
  });

  test("that failed has credits null as well", async () => {
    const own = await server.createCaller({ credits: 0 });
    const { promptVersionId } = await server.publish(directedPrompt({ model: "sandbox/text-free" }));
    const run = await own.client.runs.create(bodyOf(promptVersionId, { do: "refuse" }));
    expect(run).toMatchObject({ runStatus: "failed", tokens: 0 });
    expect((await own.client.runs.list()).rows[0]).toMatchObject({ runStatus: "failed", credits: null });
  });
});

describe("a run of several items", () => {
  const count = (n: number, directives = "") =>
    imagePrompt({ fields: `count: ${n}\noptions: { size: "256x256" }`, body: `${directives}A blue square.` });

  test("returns them in generation order and is charged for each", async () => {
    const { promptVersionId } = await server.publish(count(3));
    const run = await caller.client.runs.create(bodyOf(promptVersionId));
    expect(run.outputs.map(({ type }) => type)).toEqual(["image", "image", "image"]);
    expect(run.tokens).toBe(12);
  });

  test("has error items in their position among usable items, succeeds, and charges for what was delivered", async () => {
    const { promptVersionId } = await server.publish(count(3, "sandbox: partial=1\n"));
    const run = await caller.client.runs.create(bodyOf(promptVersionId));
    expect(run.runStatus).toBe("succeeded");
    expect(run.outputs.map(({ type }) => type)).toEqual(["image", "error", "error"]);
    expect(run.tokens).toBe(4);
  });

  test("without any usable output fails with an error item for each, free of charge", async () => {
    const { promptVersionId } = await server.publish(count(2, "sandbox: partial=0\n"));
    const run = await caller.client.runs.create(bodyOf(promptVersionId));
    expect(run).toMatchObject({ runStatus: "failed", tokens: 0 });
    expect(run.outputs.map(({ type }) => type)).toEqual(["error", "error"]);
  });
});

describe("a run of several steps", () => {
  const steps = (draft: string) =>
    promptFile({
      model: "sandbox/image",
      fields: "inputs: { hero: {} }\nsteps:\n  draft: { model: sandbox/text }\n  cover: { options: { size: 256x256 } }",
      body: `<!-- step: draft -->\n${draft}A story about {{ hero }}.\n<!-- step: cover -->\nA cover for: {{ steps.draft }}`,
    });

  test("returns the outputs of all steps in order", async () => {
    const { promptVersionId } = await server.publish(steps(""));
    const run = await caller.client.runs.create(bodyOf(promptVersionId, { hero: "a cat" }));
    expect(run.runStatus).toBe("succeeded");
    expect(run.outputs.map(({ type }) => type)).toEqual(["text", "image"]);
    expect(run.outputs[0]?.data).toContain("A story about a cat.");
  });

  test("skips steps that read from a failed step", async () => {
    const { promptVersionId } = await server.publish(steps("sandbox: refuse\n"));
    const run = await caller.client.runs.create(bodyOf(promptVersionId, { hero: "a cat" }));
    expect(run).toMatchObject({ runStatus: "failed", tokens: 0 });
    expect(run.outputs).toEqual([
      { type: "error", data: "The model declined this request. Change the inputs." },
      { type: "error", data: "Skipped: step 'draft' failed." },
    ]);
  });
});

test("a video prompt returns a video item whose file is an MP4", async () => {
  const { promptVersionId } = await server.publish(promptFile({ model: "sandbox/video", body: "A cat walks." }));
  const run = await caller.client.runs.create(bodyOf(promptVersionId));
  expect(run).toMatchObject({ runStatus: "succeeded", outputs: [{ type: "video" }] });
  const file = await fetch(run.outputs[0]?.data ?? "");
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "video/mp4"]);
});

test("an older published version stays runnable", async () => {
  const { accountId: authorId } = await server.createCaller({ credits: 0 });
  const slug = "two-versions";
  const first = await server.publish(promptFile({ slug, body: "The first." }), { authorId });
  const second = await server.publish(promptFile({ slug, body: "The second." }), { authorId });
  expect(second.promptId).toBe(first.promptId);
  const run = await caller.client.runs.create(bodyOf(first.promptVersionId));
  expect(run.outputs[0]?.data).toContain("The first.");
});

test("the answer never shows a provider's body, and text that a database cannot store is cleaned", async () => {
  const { promptVersionId } = await server.publish(directedPrompt());
  const failed = await caller.client.runs.create(bodyOf(promptVersionId, { do: "error=400" }));
  expect(failed.outputs[0]?.data).not.toMatch(/HTTP|Sandbox|stack/);
  const dirty = await caller.client.runs.create(bodyOf(promptVersionId, { do: "dirty" }));
  expect(dirty.outputs[0]?.data).toContain("dirty: \ufffd \ufffd");
});

test("after everything above the ledger adds up", async () => {
  expect((await server.checkLedger()).mismatches).toEqual([]);
  expect((await get(caller.client, "/v1/me/credits")).httpStatus).toBe(200);
});
