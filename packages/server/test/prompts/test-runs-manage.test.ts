/** Test runs of drafts: durable and free like an author's runs, with the text as it was, and visible to nobody else. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { bodyOf, errorOf, get, postRun } from "../wire/requests.ts";
import { textPrompt, photoPrompt, PNG_BASE64 } from "./prompt-files.ts";

let server: TestServer;
let ada: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  [ada, bob] = await Promise.all([createTestPerson(server), createTestPerson(server)]);
  await server.app.db.query("update accounts set pro_until = 'infinity'");
});
afterAll(() => server.close());

const TESTS = `inputs: { topic: {} }
tests:
  - name: holds
    inputs: { topic: tea }
    expect: { contains: tea, shorterThan: 2000, judge: It is about tea. }
  - name: fails
    inputs: { topic: tea }
    expect: { contains: coffee }`;

async function draftOf(source: string): Promise<string> {
  return (await ada.client.send("createDraft", { body: { source } })).promptId;
}

const run = (promptId: string, body: object) =>
  ada.client.request({ method: "POST", path: `/manage/v1/prompts/${promptId}/test-runs`, body });

describe("a test run", () => {
  test("executes the draft, costs nothing, and counts neither as a use nor as a version of the prompt", async () => {
    const promptId = await draftOf(textPrompt({ title: "Never published" }));
    const inputs = { textInputs: { topic: "hello" } };
    const created = await ada.client.send("createTestRun", { params: { promptId }, body: { revision: 1, inputs } });
    expect(created).toMatchObject({ runStatus: "succeeded", tokens: 0, outputs: [{ type: "text" }] });
    const detail = await ada.client.send("getRun", { params: { runId: created.runId } });
    expect(detail).toMatchObject({ promptId, isTest: true, receipt: { held: null, charged: 0 } });
    const prompt = await ada.client.send("getPrompt", { params: { promptId } });
    expect(prompt).toMatchObject({ state: "draft", versions: 0, latest: null, uses: 0, last30Days: { runs: 0 } });
    await server.app.db.query("select usage_roll_up(100, interval '0')");
    expect(await ada.client.send("getPromptUsage", { params: { promptId } })).toMatchObject({ rows: [] });
  });

  test("keeps the draft's text of that time: a later save changes neither the run nor its test", async () => {
    const source = textPrompt({ fields: TESTS });
    const promptId = await draftOf(source);
    const params = { promptId };
    const first = await ada.client.send("createTestRun", { params, body: { revision: 1, test: "holds" } });
    const changed = source.replace("contains: tea", "contains: cocoa");
    await ada.client.send("saveDraft", { params, body: { source: changed, revision: 1 } });
    expect((await run(promptId, { revision: 1, test: "holds" })).httpStatus).toBe(422);
    const second = await ada.client.send("createTestRun", { params, body: { revision: 2, test: "holds" } });
    const judge = (runId: string, name: string) =>
      ada.client.send("getTestRun", { params: { promptId, runId }, query: { test: name } });
    expect((await judge(first.runId, "holds")).test).toEqual({
      name: "holds",
      passed: true,
      failures: [],
      unchecked: ["judge: It is about tea."],
    });
    expect((await judge(second.runId, "holds")).test).toMatchObject({ passed: false });
    expect((await judge(first.runId, "fails")).test?.failures).toEqual(['contains: "coffee" is missing.']);
    const path = `/manage/v1/prompts/${promptId}/test-runs/${first.runId}?test=absent`;
    expect((await ada.client.request({ method: "GET", path })).httpStatus).toBe(422);
  });

  test("of a revision makes one frozen version, however often it runs", async () => {
    const promptId = await draftOf(textPrompt());
    const body = { revision: 1, inputs: { textInputs: { topic: "x" } } };
    await Promise.all([run(promptId, body), run(promptId, body), run(promptId, body)]);
    await run(promptId, body);
    const rows = await server.app.db.query("select number from prompt_versions where prompt_id = $1", [promptId]);
    expect(rows).toEqual([{ number: null }]);
  });

  test("with another model uses that model, without options that it does not accept, and is frozen once", async () => {
    const fields = `options: { reasoningEffort: low }\nmaxOutputTokens: 100\n${TESTS}`;
    const promptId = await draftOf(textPrompt({ fields }));
    const params = { promptId };
    const request = { revision: 1, test: "holds", runOptions: { reasoningEffort: "high" } };
    const runWith = async (model?: string) => {
      const body = { ...request, ...(model === undefined ? {} : { model }) };
      const { runId } = await ada.client.send("createTestRun", { params, body });
      const judged = await ada.client.send("getTestRun", { params: { promptId, runId }, query: { test: "holds" } });
      expect(judged.test).toMatchObject({ passed: true });
      return { ...(await ada.client.send("getRun", { params: { runId } })), price: judged.price };
    };
    const [other, again, own] = [
      await runWith("sandbox/text-free"),
      await runWith("sandbox/text-free"),
      await runWith(),
    ];
    expect(other).toMatchObject({ model: "sandbox/text-free", isTest: true, runOptions: {} });
    expect([other.price, own.price.typical > 0]).toEqual([{ typical: 0, most: 0 }, true]);
    expect(own).toMatchObject({ model: "sandbox/text", runOptions: { reasoningEffort: "high" } });
    expect(again.promptVersionId).toBe(other.promptVersionId);
    expect(own.promptVersionId).not.toBe(other.promptVersionId);
    const refused = await run(promptId, { ...request, model: "sandbox/absent" });
    expect([refused.httpStatus, errorOf(refused).data]).toMatchObject([
      422,
      { issues: [{ path: ["body", "model"], message: 'There is no model "sandbox/absent" on this server.' }] },
    ]);
  });

  test("accepts images like any run, and reports everything that is wrong with its inputs", async () => {
    const promptId = await draftOf(photoPrompt(1));
    const imageInputs = [{ type: "base64", base64: PNG_BASE64 }];
    expect((await run(promptId, { revision: 1, inputs: { imageInputs } })).httpStatus).toBe(200);
    const without = await run(promptId, { revision: 1 });
    expect([without.httpStatus, errorOf(without).data]).toMatchObject([422, { issues: [{ code: "image_count" }] }]);
  });

  test("is private: another account or a key cannot find, run, or resolve its version", async () => {
    const promptId = await draftOf(textPrompt({ title: "Hidden words" }));
    const body = { revision: 1, inputs: { textInputs: { topic: "x" } } };
    const { runId } = await ada.client.send("createTestRun", { params: { promptId }, body });
    const { promptVersionId, slug } = await ada.client.send("getRun", { params: { runId } });
    const { apiKey: own } = await ada.client.send("createKey", { body: { name: "own" } });
    for (const { client } of [await server.createCaller(), { client: server.clientOf(own) }]) {
      expect((await get(client, `/v1/prompt-versions/${promptVersionId}`)).httpStatus).toBe(404);
      expect((await get(client, `/v1/prompts/${promptId}`)).httpStatus).toBe(404);
      expect((await get(client, `/v1/prompt-slugs/${slug}`)).httpStatus).toBe(404);
      expect((await postRun(client, bodyOf(promptVersionId, { topic: "x" }))).httpStatus).toBe(404);
    }
    const { rows } = await bob.client.send("searchMarketplace", { query: { q: "Hidden words" } });
    expect(rows.filter((row) => row.promptId === promptId)).toEqual([]);
    const path = `/manage/v1/prompts/${promptId}/test-runs/${runId}`;
    expect((await bob.client.request({ method: "GET", path })).httpStatus).toBe(404);
  });

  test("stays readable when its draft is deleted, although the prompt is no longer listed", async () => {
    const promptId = await draftOf(textPrompt());
    const body = { revision: 1, inputs: { textInputs: { topic: "x" } } };
    const { runId } = await ada.client.send("createTestRun", { params: { promptId }, body });
    await ada.client.send("deleteDraft", { params: { promptId } });
    expect((await ada.client.send("getRun", { params: { runId } })).runStatus).toBe("succeeded");
    const path = `/manage/v1/prompts/${promptId}`;
    expect((await ada.client.request({ method: "GET", path })).httpStatus).toBe(404);
  });
});
