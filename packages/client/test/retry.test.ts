import { PromptdConnectionError, PromptdError, PromptdProtocolError } from "@promptd/client";
import { createManageClient } from "@promptd/client/manage";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failure, run, setup, success, type Answer } from "./scripted-server.ts";

const ID = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a";
const body = { promptVersionId: ID, inputs: {} };
const busy = (headers: Record<string, string>): Answer => failure(429, "TOO_MANY_REQUESTS_ERROR", { headers });
const broken = failure(500, "SERVER_ERROR");

describe("a server that does not respond", () => {
  test("is reported once after some seconds, and requests are retried until the time is up", async () => {
    const warnings: string[] = [];
    const { client, pauses } = await setup([], {
      baseUrl: "http://127.0.0.1:1",
      onWarning: (message) => warnings.push(message),
    });
    await expect(client.run(ID)).rejects.toThrow("No connection to http://127.0.0.1:1");
    expect(pauses.reduce((sum, ms) => sum + ms)).toBeGreaterThan(100_000);
    expect(warnings).toEqual([expect.stringMatching(/^Still trying\. No connection to http:\/\/127\.0\.0\.1:1: /)]);
  });

  test("for only a moment is not reported", async () => {
    const warnings: string[] = [];
    const finished = success(run("succeeded"));
    const onWarning = (message: string) => warnings.push(message);
    const { client } = await setup(["reset", "reset", "reset", finished], { onWarning });
    await client.run(ID);
    expect(warnings).toEqual([]);
  });

  test("is reported when the first response does not arrive", async () => {
    const warnings: string[] = [];
    const onWarning = (message: string) => warnings.push(message);
    const { client, nextRequest } = await setup(["never", success({})], { onWarning, timeoutMs: 250 });
    const arrived = nextRequest();
    const waiting = client.me.get();
    await arrived;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + 60_000);
    onTestFinished(() => clock.mockRestore());
    await waiting;
    expect(warnings).toEqual([expect.stringMatching(/^Still trying\. /)]);
  });

  test("for a moment late in a long stream is not reported: each event restarts the count", async () => {
    const warnings: string[] = [];
    const onWarning = (message: string) => warnings.push(message);
    const stream = (event: string, data: unknown): Answer => ({
      status: 200,
      raw: `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
      headers: { "content-type": "text/event-stream" },
    });
    const running = Array.from({ length: 25 }, () => stream("status", run("running")));
    const script = [...running, "reset", "reset", stream("done", run("succeeded"))] as const;
    const { client, pauses } = await setup(script, { onWarning });
    let events = 0;
    for await (const _ of client.runs.follow(ID)) events += 1;
    expect(events).toBe(26);
    expect(pauses.reduce((sum, ms) => sum + ms)).toBeGreaterThan(5_000);
    expect(warnings).toEqual([]);
  });
});

describe("429", () => {
  test("is retried no earlier than Retry-After says", async () => {
    const { client, pauses } = await setup([busy({ "retry-after": "2" }), success({})], { random: () => 0 });
    await client.me.get();
    expect(pauses).toEqual([2_000]);
  });

  test("waits at least retry-after-ms, plus a random delay", async () => {
    const { client, pauses } = await setup([busy({ "retry-after": "1", "retry-after-ms": "180" }), success({})]);
    await client.me.get();
    expect(pauses).toEqual([180 + 125]);
  });

  test("without a usable Retry-After is retried after a second", async () => {
    const { client, pauses } = await setup([busy({}), busy({ "retry-after": "soon" }), success({})], {
      random: () => 0,
    });
    await client.me.get();
    expect(pauses).toEqual([1_000, 1_000]);
  });

  test("is thrown when the server asks for more than a minute", async () => {
    const { client, seen } = await setup([busy({ "retry-after": "61" })]);
    await expect(client.me.get()).rejects.toMatchObject({ retryAfterMs: 61_000 });
    expect(seen).toHaveLength(1);
  });

  test("is retried for a create too, with the same Idempotency-Key", async () => {
    const { client, seen } = await setup([busy({ "retry-after": "1" }), success(run("succeeded"))]);
    await client.runs.create(body);
    expect(seen[0]?.headers["idempotency-key"]).toMatch(/^[0-9a-f]{32}$/);
    expect(seen[1]?.headers["idempotency-key"]).toBe(seen[0]?.headers["idempotency-key"]);
  });
});

describe("500", () => {
  test("is retried after a random part of a doubling limit, up to its cap", async () => {
    const { client, pauses } = await setup([broken, broken, broken, broken, broken, broken, success({})], {
      maxRetries: 6,
    });
    await client.me.get();
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000]);
  });

  test("is thrown after the last retry", async () => {
    const { client, seen } = await setup([broken], { maxRetries: 2 });
    await expect(client.me.get()).rejects.toMatchObject({ code: "SERVER_ERROR" });
    expect(seen).toHaveLength(3);
  });

  test("is not retried if the response forbids it", async () => {
    const { client, seen } = await setup([failure(500, "SERVER_ERROR", { headers: { "x-should-retry": "false" } })]);
    await expect(client.runs.create(body)).rejects.toBeInstanceOf(PromptdError);
    expect(seen).toHaveLength(1);
  });
});

test.each([
  [400, "BAD_REQUEST_ERROR"],
  [401, "UNAUTHORIZED_ERROR"],
  [402, "PAYMENT_REQUIRED_ERROR"],
  [404, "NOT_FOUND_ERROR"],
  [410, "GONE_ERROR"],
  [422, "VALIDATION_ERROR"],
])("%d is never retried", async (status, code) => {
  const { client, seen, pauses } = await setup([failure(status, code)]);
  await expect(client.runs.create(body)).rejects.toMatchObject({ code, httpStatus: status });
  expect(seen).toHaveLength(1);
  expect(pauses).toEqual([]);
});

describe("a lost connection", () => {
  test("is retried, and a retried create has the same key", async () => {
    const { client, seen, pauses } = await setup(["reset", success(run("succeeded"))]);
    expect(await client.runs.create(body)).toMatchObject({ runStatus: "succeeded" });
    expect(seen).toHaveLength(2);
    expect(seen[0]?.headers["idempotency-key"]).toBe(seen[1]?.headers["idempotency-key"]);
    expect(pauses).toEqual([250]);
  });

  test("is not retried for a create without a key: the run may exist", async () => {
    const { client, seen } = await setup(["reset"]);
    await expect(client.runs.create(body, { idempotencyKey: null })).rejects.toBeInstanceOf(PromptdConnectionError);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test("names the address and the reason when the connection is refused", async () => {
    const { client, baseUrl, close } = await setup([success({})], { maxRetries: 1 });
    await close();
    await expect(client.me.get()).rejects.toThrow(`No connection to ${baseUrl}: connect ECONNREFUSED`);
  });

  test("includes a response that times out", async () => {
    const { client, seen } = await setup(["never"], { timeoutMs: 250, maxRetries: 1 });
    await expect(client.me.get()).rejects.toMatchObject({ name: "PromptdConnectionError", timedOut: true });
    expect(seen).toHaveLength(2);
  });
});

test("a proxy's own 5xx page is retried, but a create only with its key", async () => {
  const page: Answer = { status: 504, raw: "<html>Gateway Time-out</html>", headers: { "content-type": "text/html" } };
  const { client, seen } = await setup([page, success(run("succeeded")), page]);
  await client.runs.create(body);
  await expect(client.runs.create(body, { idempotencyKey: null })).rejects.toBeInstanceOf(PromptdProtocolError);
  expect(seen).toHaveLength(3);
});

describe("a POST without an Idempotency-Key", () => {
  const page: Answer = { status: 502, raw: "<html>Bad Gateway</html>", headers: { "content-type": "text/html" } };
  const manageAt = (baseUrl: string) =>
    createManageClient({ baseUrl, token: "pdm_test", random: () => 0, delay: async () => {} });

  test.each<[string, Answer]>([
    ["a lost connection", "reset"],
    ["a proxy's own page", page],
    ["a 500", broken],
  ])("is not retried after %s: it could create a second key that nobody has seen", async (_, answer) => {
    const { baseUrl, seen } = await setup([answer]);
    const manage = manageAt(baseUrl);
    await expect(manage.send("createKey", { body: { name: "laptop" } })).rejects.toBeInstanceOf(Error);
    await expect(manage.send("rollKey", { params: { keyId: ID }, body: {} })).rejects.toBeInstanceOf(Error);
    await expect(
      manage.send("createToken", { body: { name: "ci", scopes: ["runs:read"], expiresInDays: 1 } }),
    ).rejects.toBeInstanceOf(Error);
    expect(seen.map(({ url }) => url)).toEqual(["/manage/v1/keys", `/manage/v1/keys/${ID}/roll`, "/manage/v1/tokens"]);
  });

  test("is retried after a 429, because the server did not act", async () => {
    const { baseUrl, seen } = await setup([busy({}), success({})]);
    await manageAt(baseUrl).send("createKey", { body: { name: "laptop" } });
    expect(seen).toHaveLength(2);
  });

  test("is retried if its call is declared repeatable, as a cancel is", async () => {
    const { client, seen } = await setup(["reset", success(run("failed"))]);
    await client.runs.cancel(ID);
    expect(seen).toHaveLength(2);
  });
});

test("a POST with an Idempotency-Key, and every other method, is retried after a lost connection", async () => {
  const { baseUrl, seen } = await setup(["reset", success({}), "reset", success({})]);
  const manage = createManageClient({ baseUrl, token: "pdm_test", random: () => 0, delay: async () => {} });
  const grant = { account: "ada@example.org", amount: 5 };
  await manage.send("grantCredits", { body: grant, headers: { "Idempotency-Key": "order-17" } });
  await manage.send("revokeKey", { params: { keyId: ID } });
  expect(seen.map(({ method }) => method)).toEqual(["POST", "POST", "DELETE", "DELETE"]);
});

describe("an abort", () => {
  test("ends a request in flight with its own reason, without a retry", async () => {
    const { client, seen, nextRequest } = await setup(["never"]);
    const stop = new AbortController();
    const arrived = nextRequest();
    const waiting = client.runs.create(body, { signal: stop.signal });
    await arrived;
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(seen).toHaveLength(1);
  });

  test("ends a pause between two attempts", async () => {
    const stop = new AbortController();
    const reason = new Error("enough");
    const { client, seen } = await setup([broken], {
      delay: async (_ms, signal) => {
        stop.abort(reason);
        signal?.throwIfAborted();
      },
    });
    await expect(client.me.get({ signal: stop.signal })).rejects.toBe(reason);
    expect(seen).toHaveLength(1);
  });

  test("before the call sends nothing", async () => {
    const { client, seen } = await setup([success({})]);
    await expect(client.me.get({ signal: AbortSignal.abort(new Error("never")) })).rejects.toThrow("never");
    expect(seen).toEqual([]);
  });

  test("ends the built-in pause too", async () => {
    const { client, nextRequest } = await setup([busy({ "retry-after": "60" })], { delay: undefined });
    const stop = new AbortController();
    const arrived = nextRequest();
    const waiting = client.me.get({ signal: stop.signal });
    await arrived;
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });
});
