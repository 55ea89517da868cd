/** GET /v1/runs/:runId (specification, "Retrieve a run"). Runs in progress: create-run.504.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, get, issuesOf, postRun, RANDOM_ID, runOf } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;
beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
});
afterAll(() => server.close());

test("a final run is answered with exactly runId, outputs, runStatus and tokens, and without Retry-After", async () => {
  const { promptVersionId } = await server.publish(textPrompt());
  const created = await caller.client.runs.create(bodyOf(promptVersionId, { topic: "tea" }));
  const answer = await get(caller.client, `/v1/runs/${created.runId}`);
  expect(answer.httpStatus).toBe(200);
  expect(runOf(answer)).toEqual(created);
  expect(answer.headers.has("retry-after")).toBe(false);
});

test("a queued run shows queued, no outputs and tokens 0", async () => {
  await server.app.db.query("insert into run_limits (scope, max_running) values ('account:' || $1, 0)", [
    caller.accountId,
  ]);
  const { promptVersionId } = await server.publish(textPrompt());
  const body = bodyOf(promptVersionId, { topic: "tea" });
  const queued = await caller.client.runs.create(body, { respondAsync: true });
  expect(queued).toEqual({ runId: queued.runId, runStatus: "queued", outputs: [], tokens: 0 });
  expect(await caller.client.runs.get(queued.runId)).toEqual(queued);
  await caller.client.runs.cancel(queued.runId);
});

describe("an id", () => {
  test("of no run is 404", async () => {
    const answer = await get(caller.client, `/v1/runs/${RANDOM_ID}`);
    expect(answer.httpStatus).toBe(404);
    expect(errorOf(answer)).toEqual({
      status: "NOT_FOUND_ERROR",
      message: `No run has the id ${RANDOM_ID}.`,
      data: null,
    });
  });

  test("of a prompt or of a version, here or in a create, is 404 that says so, until the prompt is unpublished", async () => {
    const { promptId, promptVersionId } = await server.publish(textPrompt());
    const messageOf = async (id: string) => errorOf(await get(caller.client, `/v1/runs/${id}`)).message;
    const messagesOf = async (id: string) => [
      await messageOf(id),
      errorOf(await postRun(caller.client, bodyOf(id, { topic: "tea" }))).message,
    ];
    const isPrompt = `${promptId}. It is the id of a prompt whose latest version is ${promptVersionId}.`;
    expect(await messagesOf(promptId)).toEqual([
      `No run has the id ${isPrompt}`,
      `No published prompt version has the id ${isPrompt}`,
    ]);
    expect(await messageOf(promptVersionId)).toBe(
      `No run has the id ${promptVersionId}. It is the id of a version of the prompt ${promptId}.`,
    );
    await server.unpublish(promptId);
    expect(await messagesOf(promptId)).toEqual([
      `No run has the id ${promptId}.`,
      `No published prompt version has the id ${promptId}.`,
    ]);
  });

  test.each(["abc", "1", `${RANDOM_ID}0`, RANDOM_ID.replaceAll("-", ""), `{${RANDOM_ID}}`, `urn:uuid:${RANDOM_ID}`])(
    "%s is no UUID: 422",
    async (id) => {
      const answer = await get(caller.client, `/v1/runs/${encodeURIComponent(id)}`);
      expect(answer.httpStatus).toBe(422);
      expect(issuesOf(answer)).toMatchObject([{ path: ["path", "runId"], code: "invalid_uuid" }]);
    },
  );

  test("that is not a UUID is quoted in the message", async () => {
    const answer = await get(caller.client, "/v1/runs/abc");
    expect(errorOf(answer).message).toBe('runId must be a UUID, got "abc".');
  });

  test("of any version and variant is a UUID", async () => {
    for (const id of ["11111111-1111-1111-1111-111111111111", "ffffffff-ffff-ffff-ffff-ffffffffffff"]) {
      expect((await get(caller.client, `/v1/runs/${id}`)).httpStatus).toBe(404);
    }
  });

  test("of 5,000 characters is 422, never 414", async () => {
    expect((await get(caller.client, `/v1/runs/${"a".repeat(5_000)}`)).httpStatus).toBe(422);
  });

  test("of a prompt version is not a run", async () => {
    const { promptVersionId } = await server.publish(textPrompt());
    expect((await get(caller.client, `/v1/runs/${promptVersionId}`)).httpStatus).toBe(404);
  });
});
