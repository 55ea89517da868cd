/** Authors earn from what others pay for runs of their prompts, at the share that applied when the run was created. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { setAuthorShare } from "../../src/prompts/index.ts";
import { imagePrompt } from "../prompts/prompt-files.ts";
import { createTestPerson } from "../people/people-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { bodyOf, postRun, runOf, startRun } from "../wire/requests.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_AUTHOR_SHARE: "50" } });
});
afterAll(() => server.close());

/** A prompt whose run costs 4 credits, its author and a caller. */
async function setUp() {
  const author = await server.createCaller({ credits: 0 });
  const prompt = await server.publish(imagePrompt(), { authorId: author.accountId });
  return { author, prompt, caller: await server.createCaller({ credits: 100 }) };
}

test("the installation's share of a run is the author's to spend as soon as the caller has the result", async () => {
  const { author, prompt, caller } = await setUp();
  const run = runOf(await postRun(caller.client, bodyOf(prompt.promptVersionId)));
  expect(run.tokens).toBe(4);
  expect([await author.client.me.credits(), await caller.client.me.credits()]).toEqual([
    { credits: 2 },
    { credits: 96 },
  ]);
  const other = await server.publish(imagePrompt());
  const low = { ...bodyOf(other.promptVersionId), runOptions: { quality: "low" } };
  expect(runOf(await postRun(author.client, low)).tokens).toBe(2); // paid with earnings
  expect([await author.client.me.credits(), (await server.checkLedger()).mismatches]).toEqual([{ credits: 0 }, []]);
});

test("a prompt's own share, even 0, takes precedence over the installation's share, and a change applies to the next run", async () => {
  const { author, prompt, caller } = await setUp();
  const earned: number[] = [];
  for (const percent of [100, 0, 25, null]) {
    await setAuthorShare(server.app.db, prompt.promptId, percent);
    await postRun(caller.client, bodyOf(prompt.promptVersionId));
    earned.push((await author.client.me.credits()).credits);
  }
  expect(earned).toEqual([4, 4, 5, 7]);
});

test("a change of the share applies in every process from the next run on, and to items of batches", async () => {
  const { author, prompt, caller } = await setUp();
  const body = bodyOf(prompt.promptVersionId);
  const other = await server.startAnother("api", { PROMPTD_AUTHOR_SHARE: "50" });
  const there = server.clientOf(caller.apiKey, other.listenUrl ?? "");
  const runItem = async () => {
    const item = { inputs: body.inputs };
    const { batchId } = await caller.client.batches.create({ promptVersionId: prompt.promptVersionId, items: [item] });
    await caller.client.batches.wait(batchId, { pollMs: 50 });
  };
  const earned: number[] = [];
  for (const percent of [100, 0, 25]) {
    await setAuthorShare(server.app.db, prompt.promptId, percent);
    for (const run of [() => postRun(caller.client, body), () => postRun(there, body), runItem]) {
      await run();
      earned.push((await author.client.me.credits()).credits);
    }
  }
  expect(earned).toEqual([4, 8, 12, 12, 12, 12, 13, 14, 15]);
  expect((await server.checkLedger()).mismatches).toEqual([]);
});

test("a run keeps the author and the share from its creation", async () => {
  const { author, prompt, caller } = await setUp();
  const runId = await startRun(caller.client, bodyOf(prompt.promptVersionId));
  await setAuthorShare(server.app.db, prompt.promptId, 0);
  const text = "select prices -> 'author' as author from runs where id = $1";
  expect(await server.app.db.query(text, [runId])).toEqual([
    { author: { accountId: author.accountId, sharePercent: 50 } },
  ]);
  await caller.client.runs.get(runId, { waitSeconds: 20 });
  expect(await author.client.me.credits()).toEqual({ credits: 2 });
});

test.each<[string, Record<string, string>]>([
  ["where anyone can sign up", { PROMPTD_SIGN_UP: "open" }],
  ["where the operator says so", { PROMPTD_AUTHOR_RUNS: "charged" }],
])("an author's own runs are charged %s, and the author earns nothing from them", async (_where, environment) => {
  const app = await server.startAnother("api", environment);
  const author = await server.createCaller({ credits: 10 });
  const prompt = await server.publish(imagePrompt(), { authorId: author.accountId });
  const client = server.clientOf(author.apiKey, app.listenUrl ?? "");
  expect((await client.prompts.get(prompt.promptId)).config.estimatedCredits).toBe(4);
  const person = await createTestPerson({ ...server, url: app.listenUrl ?? "" });
  const { testRuns } = await person.client.send("checkPromptFile", { body: { source: imagePrompt() } });
  expect(testRuns).toBe("charged");
  expect(runOf(await postRun(client, bodyOf(prompt.promptVersionId))).tokens).toBe(4);
  expect([await client.me.credits(), (await server.checkLedger()).mismatches]).toEqual([{ credits: 6 }, []]);
});

test("an author's own runs are free, which every response says beforehand, and nobody earns from them", async () => {
  const { author, prompt, caller } = await setUp();
  const { promptId, promptVersionId, slug } = prompt;
  const pricesFor = async ({ client }: typeof author) => {
    const [{ config }, version, named, { rows }] = [
      await client.prompts.get(promptId),
      await client.promptVersions.get(promptVersionId),
      await client.prompts.getBySlug(slug),
      await client.prompts.search(slug),
    ];
    const found = rows.find((row) => row.promptId === promptId);
    const configs = [config, version.config, named.config, found?.configs];
    return [...configs.map((one) => [one?.estimatedCredits, one?.creditsRequired]), found?.estimatedCredits];
  };
  expect(await pricesFor(author)).toEqual([[0, 0], [0, 0], [0, 0], [0, 0], 0]);
  expect(await pricesFor(caller)).toEqual([[4, 4], [4, 4], [4, 4], [4, 4], 4]);
  expect(runOf(await postRun(author.client, bodyOf(prompt.promptVersionId))).tokens).toBe(0);
  const booked = "select 1 from credit_earnings where author_id = $1";
  expect(await server.app.db.query(booked, [author.accountId])).toEqual([]);
});
