import { describe, expect, test } from "vitest";
import { failure, run, setup, success, type Answer } from "./scripted-server.ts";

const ID = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a";
const body = { promptVersionId: ID, inputs: {} };
const timedOut = failure(504, "GATEWAY_TIMEOUT_ERROR", {
  data: { runId: ID },
  headers: { "retry-after": "5", "x-should-retry": "false" },
});
const waited = { "preference-applied": "wait=30" };

describe("creating a run", () => {
  test("a 504 is thrown with the runId and not retried", async () => {
    const { client, seen } = await setup([timedOut]);
    await expect(client.runs.create(body)).rejects.toMatchObject({ code: "GATEWAY_TIMEOUT_ERROR", runId: ID });
    expect(seen).toHaveLength(1);
  });

  test("preferences are sent as one Prefer header", async () => {
    const { client, seen } = await setup([success(run("queued"))]);
    await client.runs.create(body, { respondAsync: true, waitSeconds: 1.2 });
    await client.runs.create(body, { waitSeconds: 0 });
    await client.runs.create(body);
    await client.runs.get(ID, { waitSeconds: 10 });
    expect(seen.map(({ headers }) => headers["prefer"])).toEqual([
      "respond-async, wait=2",
      "wait=0",
      undefined,
      "wait=10",
    ]);
  });

  test("sends the Idempotency-Key it is given", async () => {
    const { client, seen } = await setup([success(run("succeeded"))]);
    await client.runs.create(body, { idempotencyKey: "order-17" });
    expect(seen[0]?.headers["idempotency-key"]).toBe("order-17");
  });
});

describe("create and wait", () => {
  test("returns a run that finishes within the server's wait with one request", async () => {
    const { client, seen } = await setup([success(run("succeeded"))]);
    expect(await client.runs.createAndWait(body)).toEqual(run("succeeded"));
    expect(seen).toHaveLength(1);
  });

  test("after a 504 long-polls the same run until it is final, and never creates again", async () => {
    const { client, seen, pauses } = await setup([
      timedOut,
      success(run("running"), waited),
      failure(500, "SERVER_ERROR"),
      success(run("running"), waited),
      success(run("succeeded")),
    ]);
    const named: string[] = [];
    const result = await client.runs.createAndWait(body, { onUnfinished: (runId) => named.push(runId) });
    expect(result).toEqual(run("succeeded"));
    expect(named).toEqual([ID]);
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST /v1/runs",
      ...Array(4).fill(`GET /v1/runs/${ID}`),
    ]);
    expect(seen.slice(1).map(({ headers }) => headers["prefer"])).toEqual(Array(4).fill("wait=30"));
    expect(pauses).toEqual([250, 250, 250]); // after a poll, before the retry of the 500, after a poll
  });

  test("a poll that returned without waiting is not repeated immediately", async () => {
    const { client, pauses } = await setup([timedOut, success(run("running")), success(run("failed"))]);
    expect(await client.runs.createAndWait(body)).toMatchObject({ runStatus: "failed" });
    expect(pauses).toEqual([2_000]);
  });

  test("an unfinished run returned with a 202 is polled too", async () => {
    const accepted: Answer = { status: 202, body: { status: "SUCCESS", data: run("queued") } };
    const { client, seen } = await setup([accepted, success(run("succeeded"))]);
    expect(await client.runs.createAndWait(body, { pollSeconds: 5 })).toEqual(run("succeeded"));
    expect(seen[1]?.headers["prefer"]).toBe("wait=5");
  });

  test("an abort stops the waiting with its reason", async () => {
    const { client, nextRequest } = await setup([timedOut, "never"]);
    const stop = new AbortController();
    const arrived = nextRequest().then(nextRequest);
    const waiting = client.runs.createAndWait(body, { signal: stop.signal });
    await arrived;
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });

  test("an error other than a 504 is thrown unchanged", async () => {
    const { client } = await setup([failure(402, "PAYMENT_REQUIRED_ERROR")]);
    await expect(client.runs.createAndWait(body)).rejects.toMatchObject({ code: "PAYMENT_REQUIRED_ERROR" });
  });
});
