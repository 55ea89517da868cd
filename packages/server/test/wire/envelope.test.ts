/** One envelope for everything (specification, "Standard envelope", "Errors"), and what clients are asked to do next. */
import { ERRORS, type ErrorCode } from "@promptd/contract";
import type { RawAnswer } from "@promptd/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt, imagePrompt, promptFile } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, get, postRun, RANDOM_ID, startRun } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;
let promptVersionId = "";

beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SYNC_WAIT_MS: "200" } });
  caller = await server.createCaller();
  ({ promptVersionId } = await server.publish(directedPrompt()));
});
afterAll(() => server.close());

/** An expired file's address and an over-limit caller need more of a stage; they stand in their own tests. */
const FAILURES: Partial<Record<ErrorCode, () => Promise<RawAnswer>>> = {
  BAD_REQUEST_ERROR: () => postRun(caller.client, "{"),
  UNAUTHORIZED_ERROR: () => get(caller.client, "/v1/me", { authorization: null }),
  PAYMENT_REQUIRED_ERROR: async () => {
    const { promptVersionId: image } = await server.publish(imagePrompt());
    return postRun((await server.createCaller({ credits: 0 })).client, bodyOf(image));
  },
  NOT_FOUND_ERROR: () => get(caller.client, `/v1/runs/${RANDOM_ID}`),
  VALIDATION_ERROR: () => postRun(caller.client, {}),
  GATEWAY_TIMEOUT_ERROR: () => postRun(caller.client, bodyOf(promptVersionId, { do: "delay=1000" })),
};

describe("an error", () => {
  test.each(Object.entries(FAILURES))(
    "%s has its HTTP status and exactly status, message and data",
    async (code, make) => {
      const answer = await make();
      expect(answer.httpStatus).toBe(ERRORS[code as ErrorCode].httpStatus);
      const { status, message, data, ...rest } = errorOf(answer);
      expect(status).toBe(code);
      expect(message).toMatch(/\.$/);
      expect(data === null || typeof data === "object").toBe(true);
      expect(rest).toEqual({});
    },
  );

  test.each(Object.entries(FAILURES))("%s must not be retried automatically", async (_, make) => {
    expect((await make()).headers.get("x-should-retry")).toBe("false");
  });
});

test("a success has exactly status SUCCESS and data, and no message", async () => {
  const answer = await get(caller.client, "/v1/me");
  expect(Object.keys(JSON.parse(answer.text) as object)).toEqual(["status", "data"]);
  expect(answer.envelope?.status).toBe("SUCCESS");
});

describe("an outage of the database", () => {
  test("is 500 SERVER_ERROR with the request id and nothing else, and passes", async () => {
    await server.app.db.query("alter function credits_available(uuid) rename to credits_unavailable");
    const answer = await get(caller.client, "/v1/me/credits");
    expect(answer.httpStatus).toBe(500);
    expect(errorOf(answer)).toEqual({
      status: "SERVER_ERROR",
      message: `Internal error. If it persists, report request id ${answer.headers.get("x-request-id")}.`,
      data: null,
    });
    expect(answer.headers.get("x-should-retry")).toBe("true");
    expect(answer.text).not.toMatch(/credits_available|function|sql/i);
    await server.app.db.query("alter function credits_unavailable(uuid) rename to credits_available");
    expect((await get(caller.client, "/v1/me/credits")).httpStatus).toBe(200);
  });
});

describe("texts of every script and shape", () => {
  test("come back from a run as they went in", async () => {
    const { promptVersionId: echo } = await server.publish(
      promptFile({ fields: "inputs: { t: {} }", body: "[{{ t }}]" }),
    );
    const texts = ["שלום עולם", "สวัสดี", "👩‍👩‍👧‍👦", "\u202eabc", "\uffff", "a\tb\u0001", "a\u2028b", '"\\/', "</script>"];
    for (const text of texts) {
      const runId = await startRun(caller.client, bodyOf(echo, { t: text }));
      await expect.poll(async () => (await caller.client.runs.get(runId)).outputs[0]?.data).toContain(`[${text}]`);
    }
  });
});
