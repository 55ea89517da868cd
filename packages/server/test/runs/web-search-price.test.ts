/** A prompt that searches the web, from publishing to its price: what is held, charged, and returned. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { findFaults } from "../support/installation-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer({
    environment: { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "1000" },
  });
  ada = await createTestPerson(server);
});
afterAll(() => server.close());

async function run(title: string, fields: string, directives: string) {
  const file = `---\npromptd: 1\ntitle: ${title}\nmodel: sandbox/text\nmaxOutputTokens: 100\n${fields}---\n${directives}\nTea.\n`;
  const { promptVersionId } = await server.publish(file);
  const body = { promptVersionId, inputs: { textInputs: {} } };
  const { data } = await ada.client.call("createRun", { body });
  return ada.client.send("getRun", { params: { runId: data.runId } });
}

test("a run holds the searches that it may make, pays for the searches that it made, and lists what they found", async () => {
  const { receipt, outputs } = await run("Two", "webSearch: { sources: true }\n", "sandbox: searches=2");
  // About 130 tokens at less than 0.1 credits, and 2 searches of at most 3.
  expect(receipt).toMatchObject({ held: 4, charged: 3 });
  expect(outputs[0]?.data).toContain("web searches: 2");
  expect(outputs[0]?.data).toMatch(/Sources:\n\n- \[Sandbox source 1\]\(https:\/\/sandbox\.example\/1\)\n- .*\/2\)$/);
  expect(await findFaults(server.app.db)).toEqual([]);
});

test("a run whose model did not search pays only for its tokens, and a run whose model does not say pays for one search", async () => {
  const none = await run("None", "webSearch: true\n", "sandbox: searches=0");
  const unsaid = await run("Unsaid", "webSearch: true\n", "sandbox: nousage");
  expect([none.receipt.charged, unsaid.receipt.charged]).toEqual([1, 2]);
  expect(none.outputs[0]?.data).not.toContain("Sources:");
});

test("callers see searches according to the current models, whatever was stored at publishing", async () => {
  const file = "---\npromptd: 1\ntitle: Stored\nmodel: sandbox/text\nwebSearch: true\n---\nTea.\n";
  const { promptId, promptVersionId } = await server.publish(file);
  await server.app.db.tx(async (tx) => {
    await tx.query("alter table prompt_versions disable trigger user"); // a published version does not change
    const stripped = "update prompt_versions set config = (config::jsonb - 'webSearch')::json where id = $1";
    await tx.query(stripped, [promptVersionId]);
    await tx.query("alter table prompt_versions enable trigger user");
  });
  const { client } = await server.createCaller();
  const prompt = await client.prompts.get(promptId);
  const version = await client.promptVersions.get(promptVersionId);
  expect([prompt.config.webSearch, version.config.webSearch]).toEqual([{ searchesMax: 3 }, { searchesMax: 3 }]);
});
