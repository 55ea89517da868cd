/** A sample from a run: the author's own, successful run. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { promptActions } from "../../src/operator/prompt-actions.ts";
import { createLog } from "../../src/platform/log.ts";
import type { Config } from "../../src/platform/config/config.ts";
import { parseOne, TEA_POEM } from "./prompt-fixtures.ts";
import { startTestServer } from "../support/test-server.ts";

test("a file gets the inputs and the text of its author's run, and of nobody else's", async () => {
  const app = await startTestServer();
  onTestFinished(() => app.close());
  const [author, other] = [await app.createCaller(), await app.createCaller()];
  const { promptVersionId } = await app.publish(TEA_POEM);
  const run = await author.client.runs.createAndWait({ promptVersionId, inputs: { textInputs: { topic: "rain" } } });
  const acts = promptActions({ db: app.app.db, config: {} as Config, log: createLog("silent"), newId: randomUUID });
  const file = { name: "tea.prompt.md", text: TEA_POEM };

  const { text } = await acts.addSample(file, run.runId, author.accountId);
  const { inputs, outputs } = parseOne(text).samples;
  expect(inputs.textInputs).toEqual({ topic: "rain", "Child's Age": "7", tone: "calm" });
  expect(outputs).toEqual(run.outputs);

  await expect(acts.addSample(file, run.runId, other.accountId)).rejects.toThrow(/run of this author/);
  await expect(acts.addSample({ ...file, text }, run.runId, author.accountId)).rejects.toThrow(/already has samples/);
  await expect(acts.addSample(file, "no-id", author.accountId)).rejects.toThrow(/must be a UUID/);
});
