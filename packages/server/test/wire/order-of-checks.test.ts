/**
 * The order in which a POST /v1/runs is judged: 401, 429, plan, 400, 422 of the shape, earlier run of the
 * Idempotency-Key, 404, 410, 422 of the config, 402 credits, run. Each test breaks two neighbors at once and expects
 * the earlier one's answer.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { promptFile } from "../prompts/prompt-files.ts";
import { overlayFiles } from "./overlay-file.ts";
import { bodyOf, errorOf, issueLines, postRun, RANDOM_ID, runOf } from "./requests.ts";

const writeOverlay = overlayFiles();
let server: TestServer;
let strictUrl = "";
let promptVersionId = "";
let retiredVersionId = "";

beforeAll(async () => {
  server = await startTestServer({ httpLimits: { failedAdmissionsPerSecond: 1_000 } });
  const fields = "inputs: { topic: {} }";
  ({ promptVersionId } = await server.publish(promptFile({ fields, body: "{{ topic }}" })));
  const retired = promptFile({ model: "sandbox/text-free", fields, body: "{{ topic }}" });
  ({ promptVersionId: retiredVersionId } = await server.publish(retired));
  const model = { model: "sandbox/text-free", status: "retired", retiredAt: "2026-11-01" };
  const strict = await server.startAnother("api", {
    PROMPTD_MODELS_FILE: writeOverlay({ models: [model] }),
    PROMPTD_RATE_LIMIT_PER_SECOND: "1",
  });
  strictUrl = strict.listenUrl ?? "";
});
afterAll(() => server.close());

/** A caller of the process where one request per second is admitted and sandbox/text-free is retired. */
async function strictCaller(options: Parameters<TestServer["createCaller"]>[0] = {}): Promise<TestCaller> {
  const caller = await server.createCaller(options);
  return { ...caller, client: server.clientOf(caller.apiKey, strictUrl) };
}

test("401 before 429: a revoked key is 401 however often it is used", async () => {
  const { client, keyId } = await strictCaller();
  await server.revokeKey(keyId);
  const answers = await Promise.all([1, 2, 3, 4].map(() => postRun(client, bodyOf(promptVersionId))));
  expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([401, 401, 401, 401]);
});

test("429 before the plan", async () => {
  const { client } = await strictCaller({ plan: "none" });
  await server.freezeTime(Date.UTC(2126, 0, 1));
  const answers = [await postRun(client, "{"), await postRun(client, "{")];
  expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([402, 429]);
  await server.shiftTime(0);
});

test("the plan before 400", async () => {
  const { client } = await server.createCaller({ plan: "none" });
  expect(errorOf(await postRun(client, "{ no JSON")).data).toEqual({ reason: "PLAN_REQUIRED" });
});

test("400 before 422 for the shape: nothing in a truncated body is validated", async () => {
  const { client } = await server.createCaller();
  expect((await postRun(client, '{"promptVersionId":"abc","inputs":')).httpStatus).toBe(400);
});

test("400 for the Idempotency-Key before 422 for the shape", async () => {
  const { client } = await server.createCaller();
  expect((await postRun(client, {}, { "idempotency-key": "two words" })).httpStatus).toBe(400);
});

test("422 for the shape before the Idempotency-Key's earlier run", async () => {
  const { client } = await server.createCaller();
  const key = { "idempotency-key": "k" };
  expect((await postRun(client, bodyOf(promptVersionId, { topic: "tea" }), key)).httpStatus).toBe(200);
  const answer = await postRun(client, { promptVersionId, inputs: { textInputs: { topic: 7 } } }, key);
  expect(issueLines(answer)).toEqual(["invalid_type body.inputs.textInputs.topic"]);
});

test("the Idempotency-Key's earlier run before 404", async () => {
  const { client } = await server.createCaller();
  const key = { "idempotency-key": "k" };
  const prompt = await server.publish(promptFile());
  const first = await postRun(client, bodyOf(prompt.promptVersionId), key);
  await server.unpublish(prompt.promptId);
  expect(runOf(await postRun(client, bodyOf(prompt.promptVersionId), key))).toEqual(runOf(first));
});

test("the Idempotency-Key's conflict before 404", async () => {
  const { client } = await server.createCaller();
  const key = { "idempotency-key": "k" };
  await postRun(client, bodyOf(promptVersionId, { topic: "tea" }), key);
  expect(issueLines(await postRun(client, bodyOf(RANDOM_ID), key))).toEqual(["conflict header.Idempotency-Key"]);
});

test("422 for the shape before 404: an option that is not a string on an unknown version is 422", async () => {
  const { client } = await server.createCaller();
  const answer = await postRun(client, { ...bodyOf(RANDOM_ID), runOptions: { quality: 1 } });
  expect(issueLines(answer)).toEqual(["invalid_type body.runOptions.quality"]);
});

test("404 before 422 for the config: an unknown option on an unknown version is 404", async () => {
  const { client } = await server.createCaller();
  const answer = await postRun(client, { ...bodyOf(RANDOM_ID), runOptions: { nothing: "x" } });
  expect(answer.httpStatus).toBe(404);
});

test("404 before 422 and 402, also for a prompt that has just been run here", async () => {
  const prompt = await server.publish(promptFile({ fields: "inputs: { topic: {} }", body: "{{ topic }}" }));
  const [rich, poor] = [await server.createCaller(), await server.createCaller({ credits: 0 })];
  const whole = bodyOf(prompt.promptVersionId, { topic: "tea" });
  expect((await postRun(rich.client, whole)).httpStatus).toBe(200);
  await server.unpublish(prompt.promptId);
  expect((await postRun(rich.client, bodyOf(prompt.promptVersionId))).httpStatus).toBe(404);
  expect((await postRun(poor.client, whole)).httpStatus).toBe(404);
  await server.republish(prompt.promptId);
  expect((await postRun(rich.client, bodyOf(prompt.promptVersionId))).httpStatus).toBe(422);
  expect((await postRun(rich.client, whole)).httpStatus).toBe(200);
});

test("404 before 410: an unpublished prompt of a retired model is 404", async () => {
  const { client } = await strictCaller();
  const prompt = await server.publish(promptFile({ model: "sandbox/text-free" }));
  await server.unpublish(prompt.promptId);
  expect((await postRun(client, bodyOf(prompt.promptVersionId))).httpStatus).toBe(404);
});

test("410 before 422 for the config: a missing input is not reported for a retired model's prompt", async () => {
  const { client } = await strictCaller();
  const answer = await postRun(client, bodyOf(retiredVersionId));
  expect(answer.httpStatus).toBe(410);
});

test("422 for the config before 402 for credits", async () => {
  const { client } = await server.createCaller({ credits: 0 });
  expect((await postRun(client, bodyOf(promptVersionId))).httpStatus).toBe(422);
});

test("402 credits before the run", async () => {
  const { client } = await server.createCaller({ credits: 0 });
  const answer = await postRun(client, bodyOf(promptVersionId, { topic: "tea" }));
  expect(answer.httpStatus).toBe(402);
  expect((await client.runs.list()).rows).toEqual([]);
});
