/** 5 requests per second per account, exactly (specification, "Limits"). The database's clock is moved by hand. */
import type { Client, RawAnswer } from "@promptd/client";
import * as fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, get, postRun } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;
let nowMs = Date.UTC(2126, 0, 1);

beforeAll(async () => {
  server = await startTestServer({
    environment: { PROMPTD_RATE_LIMIT_PER_SECOND: "5" },
    httpLimits: { failedAdmissionsPerSecond: 1_000 },
  });
  await server.freezeTime(nowMs);
});
beforeEach(async () => {
  await advance(10_000);
  caller = await server.createCaller();
});
afterAll(() => server.close());

async function advance(ms: number): Promise<void> {
  nowMs += ms;
  await server.freezeTime(nowMs);
}

const me = (client: Client = caller.client) => get(client, "/v1/me");

async function burst(count: number, client: Client = caller.client): Promise<number> {
  const answers = await Promise.all(Array.from({ length: count }, () => me(client)));
  return answers.filter((answer) => answer.httpStatus === 200).length;
}

describe("within one second", () => {
  test("5 requests are admitted and the sixth is 429 with both forms of the wait", async () => {
    for (let i = 0; i < 5; i += 1) expect((await me()).httpStatus).toBe(200);
    const answer = await me();
    expect(answer.httpStatus).toBe(429);
    expect(errorOf(answer)).toEqual({
      status: "TOO_MANY_REQUESTS_ERROR",
      message: "More than 5 requests in one second. Wait 1 second, then retry.",
      data: null,
    });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.headers.get("retry-after-ms")).toBe("1000");
    expect(answer.headers.get("x-should-retry")).toBe("true");
  });

  test("of 40 concurrent requests, exactly 5 are admitted", async () => {
    expect(await burst(40)).toBe(5);
  });

  test("all keys of an account share the limit", async () => {
    const second = await server.createKey(caller.accountId);
    const third = await server.createKey(caller.accountId);
    expect((await burst(2)) + (await burst(2, second.client)) + (await burst(5, third.client))).toBe(5);
  });

  test("two processes share the limit", async () => {
    const other = await server.startAnother("api");
    const there = server.clientOf(caller.apiKey, other.listenUrl ?? "");
    const [here, elsewhere] = await Promise.all([burst(8), burst(8, there)]);
    expect(here + elsewhere).toBe(5);
  });

  test("another account is not touched", async () => {
    expect(await burst(9)).toBe(5);
    const other = await server.createCaller();
    expect((await me(other.client)).httpStatus).toBe(200);
  });
});

describe("the window slides", () => {
  test("a request is admitted again exactly one second after another was", async () => {
    expect(await burst(1)).toBe(1);
    await advance(600);
    expect(await burst(9)).toBe(4);
    await advance(399);
    const early = await me();
    expect(early.httpStatus).toBe(429);
    expect(early.headers.get("retry-after-ms")).toBe("1");
    await advance(1);
    expect(await burst(9)).toBe(1);
  });

  test("denied requests do not count: a caller who hammers is admitted as soon as a caller who waits", async () => {
    expect(await burst(5)).toBe(5);
    for (let i = 0; i < 9; i += 1) {
      await advance(100);
      expect(await burst(3)).toBe(0);
    }
    await advance(100);
    expect(await burst(9)).toBe(5);
  });

  test("exactly the requests of a plain model are admitted, whatever the pattern", async () => {
    const steps = fc.array(fc.record({ ms: fc.constantFrom(0, 1, 150, 400, 999, 1_000), count: fc.nat(4) }), {
      minLength: 4,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (pattern) => {
        const { client } = await server.createCaller({ credits: 0 });
        const admitted: number[] = [];
        for (const { ms, count } of pattern) {
          await advance(ms);
          const room = Math.max(0, 5 - admitted.filter((at) => at > nowMs - 1_000).length);
          const expected = Math.min(room, count);
          expect(await burst(count, client)).toBe(expected);
          admitted.push(...Array.from({ length: expected }, () => nowMs));
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe("headers of a counted answer", () => {
  const limits = (answer: RawAnswer) => [answer.headers.get("ratelimit-policy"), answer.headers.get("ratelimit")];

  test("say the policy and how many requests are left", async () => {
    expect(limits(await me())).toEqual(['"account";q=5;w=1', '"account";r=4;t=1']);
    await burst(3);
    expect(limits(await me())).toEqual(['"account";q=5;w=1', '"account";r=0;t=1']);
    expect(limits(await me())).toEqual(['"account";q=5;w=1', '"account";r=0;t=1']);
  });

  test("are also on errors, and never in the older three-header form", async () => {
    const answer = await get(caller.client, "/v1/runs/abc");
    expect(answer.httpStatus).toBe(422);
    expect(limits(answer)).toEqual(['"account";q=5;w=1', '"account";r=4;t=1']);
    expect(answer.headers.has("x-ratelimit-limit") || answer.headers.has("ratelimit-limit")).toBe(false);
  });

  test("are absent from a 401, which is not counted", async () => {
    const revoked = await server.createKey(caller.accountId);
    await server.revokeKey(revoked.keyId);
    for (let i = 0; i < 10; i += 1) {
      const answer = await me(revoked.client);
      expect(answer.httpStatus).toBe(401);
      expect(limits(answer)).toEqual([null, null]);
    }
    expect(await burst(9)).toBe(5);
  });
});

describe("what counts", () => {
  test.each([
    ["an unknown path", () => get(caller.client, "/v1/nothing")],
    ["a wrong method", () => caller.client.request({ method: "DELETE", path: "/v1/runs" })],
    ["HEAD", () => caller.client.request({ method: "HEAD", path: "/v1/me" })],
    ["a malformed body", () => postRun(caller.client, "{")],
    ["a lapsed plan", () => server.endPlan(caller.accountId).then(() => me())],
  ])("%s counts", async (_, send) => {
    await send();
    expect((await me()).headers.get("ratelimit")).toBe('"account";r=3;t=1');
  });

  test("OPTIONS does not count", async () => {
    await caller.client.request({ method: "OPTIONS", path: "/v1/runs" });
    expect((await me()).headers.get("ratelimit")).toBe('"account";r=4;t=1');
  });

  test("a POST that waits for its run counts once, on arrival", async () => {
    const { promptVersionId } = await server.publish(textPrompt());
    const answer = await postRun(caller.client, bodyOf(promptVersionId, { topic: "tea" }));
    expect(answer.httpStatus).toBe(200);
    expect((await me()).headers.get("ratelimit")).toBe('"account";r=3;t=1');
  });

  test("over the limit nothing is done: no run is created", async () => {
    const { promptVersionId } = await server.publish(textPrompt());
    await burst(5);
    expect((await postRun(caller.client, bodyOf(promptVersionId, { topic: "tea" }))).httpStatus).toBe(429);
    await advance(1_000);
    expect((await caller.client.runs.list()).rows).toEqual([]);
  });
});

test("PROMPTD_RATE_LIMIT_SCOPE=key counts each key alone and says so", async () => {
  const other = await server.startAnother("api", { PROMPTD_RATE_LIMIT_SCOPE: "key" });
  const one = server.clientOf(caller.apiKey, other.listenUrl ?? "");
  const two = server.clientOf((await server.createKey(caller.accountId)).apiKey, other.listenUrl ?? "");
  expect(await burst(9, one)).toBe(5);
  expect(await burst(4, two)).toBe(4);
  expect((await me(two)).headers.get("ratelimit")).toBe('"key";r=0;t=1');
});
