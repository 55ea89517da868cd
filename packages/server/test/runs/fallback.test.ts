/** A prompt with a fallback: which model answers, what is held and charged, and what the caller sees. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { findFaults } from "../support/installation-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { overlayFiles } from "../wire/overlay-file.ts";

const writeOverlay = overlayFiles();
const TEXT = { modality: "text", status: "active", runOptions: {} };
const LIMITS = { maxOutputTokens: 1_000, contextTokens: 10_000, timeoutMs: 60_000, concurrency: 10 };
const priced = (inputPer1k: string) => ({ price: { inputPer1k, outputPer1k: "0" }, limits: LIMITS });
const OVERLAY = {
  providers: { away: { baseURL: "http://127.0.0.1:1/v1" } },
  models: [
    { ...TEXT, index: 10_000, model: "away/model", provider: "away", providerModel: "m", api: "chat", ...priced("1") },
    { ...TEXT, index: 10_001, model: "own/dear", provider: "sandbox", providerModel: "text", ...priced("1000") },
    { ...TEXT, index: 10_002, model: "own/cheap", provider: "sandbox", providerModel: "text", ...priced("0.01") },
  ],
};

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer({
    environment: {
      PROMPTD_MODELS_FILE: writeOverlay(OVERLAY),
      PROMPTD_SIGN_UP_PLAN: "pro",
      PROMPTD_SIGN_UP_CREDITS: "100000",
    },
  });
  ada = await createTestPerson(server);
});
afterAll(() => server.close());

const fileOf = (model: string, fallback: string) => `---
promptd: 1
title: ${model} or ${fallback}
model: ${model}
fallback: [${fallback}]
maxOutputTokens: 100
---
A long enough text, so that each of its tokens costs something: ${"tea ".repeat(100)}
`;

async function run(model: string, fallback: string) {
  const { promptVersionId } = await server.publish(fileOf(model, fallback));
  const { data } = await ada.client.call("createRun", {
    body: { promptVersionId, inputs: { textInputs: {} } },
    headers: {},
  });
  return ada.client.send("getRun", { params: { runId: data.runId } });
}

test("a fallback answers for an unavailable model: its price is charged, and the run names it", async () => {
  const { runStatus, model, answeredBy, receipt } = await run("away/model", "own/dear");
  expect({ runStatus, model, answeredBy }).toEqual({
    runStatus: "succeeded",
    model: "away/model",
    answeredBy: "own/dear",
  });
  // About 120 tokens at 1 credit each; its own model would have cost 1 credit.
  expect(receipt.charged).toBeGreaterThan(100);
  expect(receipt.held).toBeGreaterThanOrEqual(receipt.charged);
  expect(await findFaults(server.app.db)).toEqual([]);
});

test("the hold covers the most expensive model, and the answering model is charged at its own price", async () => {
  const { answeredBy, receipt } = await run("own/cheap", "own/dear");
  expect({ answeredBy, charged: receipt.charged }).toEqual({ answeredBy: null, charged: 1 });
  expect(receipt.held).toBeGreaterThan(100);
  expect(await findFaults(server.app.db)).toEqual([]);
});

test("the first available of several fallbacks answers", async () => {
  const { answeredBy, receipt } = await run("away/model", "openai/gpt-4.1-mini, own/cheap");
  expect({ answeredBy, charged: receipt.charged }).toEqual({ answeredBy: "own/cheap", charged: 1 });
});
