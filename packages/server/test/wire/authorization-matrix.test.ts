/** Every endpoint against every state of a caller, and every id against other people's (specification, "Authentication"). */
import { ENDPOINTS, type EndpointName } from "@promptd/contract";
import type { Client, RawAnswer } from "@promptd/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, cancelRun, errorOf, get, postRun, RANDOM_ID, runOf, startRun, withoutId } from "./requests.ts";

let server: TestServer;
let owner: TestCaller;
const ids = { promptId: "", promptVersionId: "", runId: "", batchId: "" };

beforeAll(async () => {
  server = await startTestServer({ httpLimits: { failedAdmissionsPerSecond: 1_000 } });
  owner = await server.createCaller();
  Object.assign(ids, await server.publish(textPrompt({ title: "Matrix" })));
  ids.runId = await startRun(owner.client, bodyOf(ids.promptVersionId, { topic: "tea" }));
  ids.batchId = (await owner.client.batches.create(batchBody())).batchId;
});
afterAll(() => server.close());

const batchBody = () => ({
  promptVersionId: ids.promptVersionId,
  items: [{ inputs: { textInputs: { topic: "tea" } } }],
});

const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

function call(client: Client, name: EndpointName, headers: Record<string, string | null> = {}): Promise<RawAnswer> {
  const { method, path } = ENDPOINTS[name];
  const filled = path.replace(/:(promptId|promptVersionId|runId|batchId)/, (_, id: keyof typeof ids) => ids[id]);
  const bodies: Partial<Record<EndpointName, unknown>> = {
    createRun: bodyOf(ids.promptVersionId, { topic: "tea" }),
    createBatch: batchBody(),
  };
  const body = bodies[name];
  const query = name === "searchPrompts" ? { q: "matrix" } : {};
  return client.request({ method, path: filled, body, query, headers });
}

describe.each(NAMES)("%s", (name) => {
  test("answers 401 without a key", async () => {
    const answer = await call(owner.client, name, { authorization: null });
    expect(answer.httpStatus).toBe(401);
    expect(errorOf(answer)).toEqual({
      status: "UNAUTHORIZED_ERROR",
      message: 'No API key was sent. Send the header "Authorization: Bearer <API_KEY>".',
      data: null,
    });
  });

  test("answers 401 for a key that does not exist", async () => {
    const answer = await call(server.clientOf("pd_000000000000000000000000000000000000"), name);
    expect(answer.httpStatus).toBe(401);
    expect(errorOf(answer).message).toBe(
      "The API key is not valid. Check it, create a new one, or ask the account's owner for one.",
    );
  });

  test("answers 401 for a revoked key from the next request on", async () => {
    const caller = await server.createCaller();
    expect((await get(caller.client, "/v1/me")).httpStatus).toBe(200);
    await server.revokeKey(caller.keyId);
    const answer = await call(caller.client, name);
    expect(answer.httpStatus).toBe(401);
    expect(errorOf(answer).message).toMatch(/^This API key was revoked on \d{4}-\d{2}-\d{2}\.$/);
  });

  test("answers 402 PLAN_REQUIRED to an account that never had a plan", async () => {
    const { client } = await server.createCaller({ plan: "none" });
    const answer = await call(client, name);
    expect(answer.httpStatus).toBe(402);
    expect(errorOf(answer)).toEqual({
      status: "PAYMENT_REQUIRED_ERROR",
      message: "The API needs a Pro plan. Ask an operator of this server for one.",
      data: { reason: "PLAN_REQUIRED" },
    });
  });

  test("answers 402 PLAN_LAPSED when the plan has ended", async () => {
    const { client, accountId } = await server.createCaller();
    await server.endPlan(accountId);
    const answer = await call(client, name);
    expect(answer.httpStatus).toBe(402);
    expect(errorOf(answer)).toEqual({
      status: "PAYMENT_REQUIRED_ERROR",
      message: "Your Pro plan has ended. Ask an operator of this server to renew it.",
      data: { reason: "PLAN_LAPSED" },
    });
  });
});

describe("over the limit", () => {
  let strictUrl: string;
  beforeAll(async () => {
    const strict = await server.startAnother("api", { PROMPTD_RATE_LIMIT_PER_SECOND: "1" });
    strictUrl = strict.listenUrl ?? "";
    await server.freezeTime(Date.UTC(2126, 0, 1));
  });
  afterAll(() => server.shiftTime(0));

  test.each(NAMES)("%s answers 429", async (name) => {
    const client = server.clientOf((await server.createCaller()).apiKey, strictUrl);
    expect((await get(client, "/v1/me")).httpStatus).toBe(200);
    const answer = await call(client, name);
    expect(answer.httpStatus).toBe(429);
    expect(errorOf(answer)).toMatchObject({ status: "TOO_MANY_REQUESTS_ERROR", data: null });
  });
});

describe("someone else's id gets the same response as an id that never existed, byte for byte", () => {
  /** What two strangers get who ask for this id and for one that never was; equal, and a 404. */
  async function askBoth(ask: (client: Client, id: string) => Promise<RawAnswer>, id: string) {
    const [one, two] = await Promise.all([server.createCaller(), server.createCaller()]);
    const asked = withoutId(await ask(one.client, id), id);
    const random = withoutId(await ask(two.client, RANDOM_ID), RANDOM_ID);
    return { asked, random: { ...random, httpStatus: 404 } };
  }

  test("GET /v1/runs/:runId of another account's run", async () => {
    const { asked, random } = await askBoth((client, id) => get(client, `/v1/runs/${id}`), ids.runId);
    expect(asked).toEqual(random);
  });

  test("POST /v1/runs/:runId/cancel of another account's run", async () => {
    const { asked, random } = await askBoth((client, id) => cancelRun(client, id), ids.runId);
    expect(asked).toEqual(random);
    expect(runOf(await waitFor(owner.client, ids.runId)).runStatus).toBe("succeeded");
  });

  test.each([
    "GET /v1/batches/:id",
    "GET /v1/batches/:id/results",
    "POST /v1/batches/:id/cancel",
    "POST /v1/batches/:id/resume",
  ])("%s of another account's batch", async (line) => {
    const [method = "", path = ""] = line.split(" ");
    const ask = (client: Client, id: string) => client.request({ method, path: path.replace(":id", id) });
    const { asked, random } = await askBoth(ask, ids.batchId);
    expect(asked).toEqual(random);
  });

  test("GET /v1/batches with another account's batch as a cursor", async () => {
    const [one, two] = await Promise.all([server.createCaller(), server.createCaller()]);
    const foreign = await get(one.client, `/v1/batches?startingAfter=${ids.batchId}`);
    const random = await get(two.client, `/v1/batches?startingAfter=${RANDOM_ID}`);
    expect(foreign.httpStatus).toBe(422);
    expect(withoutId(foreign, ids.batchId)).toEqual(withoutId(random, RANDOM_ID));
  });

  test("GET /v1/runs with another account's run as a cursor", async () => {
    const [one, two] = await Promise.all([server.createCaller(), server.createCaller()]);
    const foreign = await get(one.client, `/v1/runs?startingAfter=${ids.runId}`);
    const random = await get(two.client, `/v1/runs?startingAfter=${RANDOM_ID}`);
    expect(foreign.httpStatus).toBe(422);
    expect(withoutId(foreign, ids.runId)).toEqual(withoutId(random, RANDOM_ID));
  });

  const unseen = [
    ["a draft", async () => server.freezeDraft(textPrompt())],
    [
      "an unpublished prompt",
      async () => {
        const published = await server.publish(textPrompt());
        await server.unpublish(published.promptId);
        return published;
      },
    ],
  ] as const;

  test.each(unseen)("GET /v1/prompts/:promptId of %s", async (_, make) => {
    const { promptId } = await make();
    const { asked, random } = await askBoth((client, id) => get(client, `/v1/prompts/${id}`), promptId);
    expect(asked).toEqual(random);
  });

  test.each(unseen)("GET /v1/prompt-versions/:promptVersionId of %s", async (_, make) => {
    const { promptVersionId } = await make();
    const { asked, random } = await askBoth((client, id) => get(client, `/v1/prompt-versions/${id}`), promptVersionId);
    expect(asked).toEqual(random);
  });

  test.each(unseen)("GET /v1/prompts/:promptId?versionId of %s", async (_, make) => {
    const { promptVersionId } = await make();
    const { asked, random } = await askBoth(
      (client, id) => get(client, `/v1/prompts/${ids.promptId}?versionId=${id}`),
      promptVersionId,
    );
    expect(asked).toEqual(random);
  });

  test.each(unseen)("POST /v1/runs of %s", async (_, make) => {
    const { promptVersionId } = await make();
    const { asked, random } = await askBoth(
      (client, id) => postRun(client, bodyOf(id, { topic: "tea" })),
      promptVersionId,
    );
    expect(asked).toEqual(random);
  });

  test("an author has no better view of their own draft than anyone else", async () => {
    const { promptVersionId } = await server.freezeDraft(textPrompt(), { authorId: owner.accountId });
    const answer = await postRun(owner.client, bodyOf(promptVersionId, { topic: "tea" }));
    expect(answer.httpStatus).toBe(404);
  });
});

function waitFor(client: Client, runId: string): Promise<RawAnswer> {
  return get(client, `/v1/runs/${runId}`, { prefer: "wait=20" });
}

describe("a run remains its creator's", () => {
  test("when its prompt is unpublished", async () => {
    const caller = await server.createCaller();
    const { promptId, promptVersionId } = await server.publish(textPrompt());
    const runId = await startRun(caller.client, bodyOf(promptVersionId, { topic: "tea" }));
    await server.unpublish(promptId);
    expect(runOf(await waitFor(caller.client, runId)).runStatus).toBe("succeeded");
  });

  test("for every key of the account", async () => {
    const caller = await server.createCaller();
    const runId = await startRun(caller.client, bodyOf(ids.promptVersionId, { topic: "tea" }));
    const second = await server.createKey(caller.accountId);
    expect((await get(second.client, `/v1/runs/${runId}`)).httpStatus).toBe(200);
  });
});
