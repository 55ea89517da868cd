/** A model that was withdrawn after the prompt was published, or is not enabled here (specification, "Errors", 410). */
import type { Client } from "@promptd/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { imagePrompt, promptFile } from "../prompts/prompt-files.ts";
import { overlayFiles } from "./overlay-file.ts";
import { bodyOf, dataOf, errorOf, get, postRun, runOf } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

const WITHDRAWN = "acme/picture-1";
const NOT_HERE = "acme/text-2";

/** Two models of the operator's own: one that the second start retires, one whose key is missing. */
function overlay(status: "active" | "retired"): object {
  const limits = { maxOutputTokens: 0, timeoutMs: 60_000, concurrency: 8 };
  const picture = {
    index: 10_000,
    model: WITHDRAWN,
    provider: "sandbox",
    providerModel: "image",
    modality: "image",
    status,
    runOptions: {},
    price: { perImage: "4" },
    limits,
    ...(status === "retired" ? { retiredAt: "2026-11-01" } : {}),
  };
  const text = {
    index: 10_001,
    model: NOT_HERE,
    provider: "acme",
    providerModel: "text-2",
    api: "chat",
    modality: "text",
    status: "active",
    runOptions: {},
    price: { outputPer1k: "1" },
    limits: { ...limits, maxOutputTokens: 100, contextTokens: 1_000 },
  };
  const providers = { acme: { baseURL: "https://models.acme.example/v1", apiKeyEnv: "ACME_API_KEY" } };
  return { providers, models: [picture, text] };
}

const writeOverlay = overlayFiles();
let server: TestServer;
let caller: TestCaller;
let later: Client;
const published = { promptId: "", promptVersionId: "" };
const steps = { promptId: "", promptVersionId: "" };

beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_MODELS_FILE: writeOverlay(overlay("active")) } });
  caller = await server.createCaller();
  Object.assign(published, await server.publish(imagePrompt({ title: "Zebra", model: WITHDRAWN, fields: "" })));
  const file = promptFile({
    title: "Okapi",
    fields: `steps:\n  cover: { model: ${WITHDRAWN} }\n  text: { model: sandbox/text }`,
    body: "<!-- step: cover -->\nA cover.\n<!-- step: text -->\nA text.",
  });
  Object.assign(steps, await server.publish(file));
  const app = await server.startAnother("api", { PROMPTD_MODELS_FILE: writeOverlay(overlay("retired")) });
  later = server.clientOf(caller.apiKey, app.listenUrl ?? "");
});
afterAll(() => server.close());

describe("a version whose model is retired", () => {
  test("could be run before", async () => {
    expect(runOf(await postRun(caller.client, bodyOf(published.promptVersionId))).runStatus).toBe("succeeded");
  });

  test("is 410 MODEL_RETIRED with the model's name, and creates no run", async () => {
    const before = (await caller.client.runs.list({ limit: 50 })).rows.length;
    const answer = await postRun(later, bodyOf(published.promptVersionId));
    expect(answer.httpStatus).toBe(410);
    expect(errorOf(answer)).toEqual({
      status: "GONE_ERROR",
      message: `The model ${WITHDRAWN} is retired. Use a newer version of the prompt.`,
      data: { reason: "MODEL_RETIRED", model: WITHDRAWN },
    });
    expect((await caller.client.runs.list({ limit: 50 })).rows).toHaveLength(before);
  });

  test("is 410 if only one of its steps uses that model", async () => {
    expect((await postRun(later, bodyOf(steps.promptVersionId))).httpStatus).toBe(410);
  });

  test("stays readable", async () => {
    const { promptId, promptVersionId } = published;
    expect((await get(later, `/v1/prompts/${promptId}`)).httpStatus).toBe(200);
    expect((await get(later, `/v1/prompt-versions/${promptVersionId}`)).httpStatus).toBe(200);
  });

  test("is not found by search, because it could not be run", async () => {
    expect((await caller.client.prompts.search("zebra")).rows.map(({ title }) => title)).toEqual(["Zebra"]);
    expect((await later.prompts.search("zebra")).rows).toEqual([]);
  });

  test("is not found by search when only one of its steps uses that model, and stays readable", async () => {
    expect((await caller.client.prompts.search("okapi")).rows.map(({ title }) => title)).toEqual(["Okapi"]);
    expect((await later.prompts.search("okapi")).rows).toEqual([]);
    expect((await later.prompts.get(steps.promptId)).promptVersionId).toBe(steps.promptVersionId);
  });

  test("leaves runs of the model readable", async () => {
    const { rows } = await later.runs.list({ limit: 50 });
    expect(rows.length).toBeGreaterThan(0);
    expect((await get(later, `/v1/runs/${rows[0]?.runId}`)).httpStatus).toBe(200);
  });
});

test("GET /v1/resources does not list a retired model, nor one that is not enabled here", async () => {
  const names = ({ resources }: Awaited<ReturnType<Client["resources"]["get"]>>) =>
    resources.models.map(({ model }) => model).filter((model) => model.startsWith("acme/"));
  expect(names(await caller.client.resources.get())).toEqual([WITHDRAWN]);
  expect(names(await later.resources.get())).toEqual([]);
});

test("a run of a known model that is not enabled here is accepted and fails with a message, free of charge", async () => {
  const { promptVersionId } = await server.publish(promptFile({ model: NOT_HERE }));
  const answer = await postRun(caller.client, bodyOf(promptVersionId));
  expect(answer.httpStatus).toBe(200);
  expect(dataOf(answer)).toMatchObject({
    runStatus: "failed",
    tokens: 0,
    outputs: [{ type: "error", data: `The model ${NOT_HERE} is not enabled on this server.` }],
  });
});

test("a run of a model that only newer processes know waits for one of them, so a deployment fails no run", async () => {
  const newer = { PROMPTD_MODELS_FILE: writeOverlay(overlay("active")) };
  const api = await startTestServer({ role: "api", environment: newer });
  onTestFinished(() => api.close());
  const older = await api.startAnother("worker", { PROMPTD_MODELS_FILE: "" });
  const { client } = await api.createCaller();
  const { promptVersionId } = await api.publish(imagePrompt({ model: WITHDRAWN, fields: "" }));
  const { runId } = await client.runs.create(bodyOf(promptVersionId), { respondAsync: true });
  const givenBack = "select 1 from runs where attempt > 0 and worker is null and finished_at is null";
  await eventually(async () => expect(await api.app.db.query(givenBack)).toHaveLength(1));
  await older.close();
  await api.startAnother("worker", newer);
  const end = async () => expect((await client.runs.get(runId)).runStatus).toBe("succeeded");
  await eventually(end);
});

describe("a model that is no longer in the catalogue at all", () => {
  test("is gone like a retired model: its price is no longer known", async () => {
    const app = await server.startAnother("api", { PROMPTD_MODELS_FILE: "" });
    const without = server.clientOf(caller.apiKey, app.listenUrl ?? "");
    const answer = await postRun(without, bodyOf(published.promptVersionId));
    expect(answer.httpStatus).toBe(410);
    expect(errorOf(answer).data).toEqual({ reason: "MODEL_RETIRED", model: WITHDRAWN });
    expect((await get(without, `/v1/prompts/${published.promptId}`)).httpStatus).toBe(200);
    expect((await without.prompts.search("zebra")).rows).toEqual([]);
  });

  test("applies to every sandbox prompt if PROMPTD_SANDBOX is off", async () => {
    const { promptVersionId } = await server.publish(promptFile());
    const app = await server.startAnother("api", { PROMPTD_SANDBOX: "off", PROMPTD_MODELS_FILE: "" });
    const answer = await postRun(server.clientOf(caller.apiKey, app.listenUrl ?? ""), bodyOf(promptVersionId));
    expect(errorOf(answer).data).toEqual({ reason: "MODEL_RETIRED", model: "sandbox/text" });
  });
});

test("an unpublished prompt is 404 and never 410", async () => {
  const prompt = await server.publish(promptFile());
  await server.unpublish(prompt.promptId);
  expect((await postRun(caller.client, bodyOf(prompt.promptVersionId))).httpStatus).toBe(404);
});
