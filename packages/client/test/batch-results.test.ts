/** Batches with a server that breaks connections: results continue where they stopped, and one batch is created. */
import type { BatchResult } from "@promptd/contract";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failure, setup, success, type Answer } from "./scripted-server.ts";

const ID = "01a1f90c-6c02-7e4f-9b1d-3d8e5f20a7c4";
const VERSION = "019a0c11-52d4-7b18-8f3d-6a9d04c1e2b7";
const result = (index: number) => ({ index, key: null, status: "succeeded", runId: ID, outputs: [], credits: 1 });
const lines = (...indexes: number[]) => indexes.map((index) => `${JSON.stringify(result(index))}\n`).join("");
const sent = (raw: string, headers: Record<string, string> = {}, isOpen = false): Answer => ({
  status: 200,
  raw,
  isOpen,
  headers: { "content-type": "application/x-ndjson; charset=utf-8", ...headers },
});
/** Announces more bytes than it sends. */
const cut = (raw: string) => sent(raw, { "content-length": "9999", connection: "close" });
const batch = (succeeded: number, finishedAt: string | null, pause: unknown = null) => ({
  batchId: ID,
  batchStatus: finishedAt === null ? "running" : "finished",
  counts: { total: 2, succeeded },
  pause,
  finishedAt,
});

async function collect(results: AsyncIterable<BatchResult>): Promise<BatchResult[]> {
  const all: BatchResult[] = [];
  for await (const one of results) all.push(one);
  return all;
}

describe("the results of a batch", () => {
  test("continue after the last complete line when the connection breaks", async () => {
    const { client, seen } = await setup([cut(lines(0, 1) + '{"index":2,'), "reset", sent(lines(2, 3))]);
    const results = await collect(client.batches.results(ID));
    expect(results).toEqual([0, 1, 2, 3].map(result));
    const path = `/v1/batches/${ID}/results`;
    expect(seen.map(({ url }) => url)).toEqual([path, `${path}?startingAfter=1`, `${path}?startingAfter=1`]);
  });

  test("that do not exist are an error, and are not requested again", async () => {
    const { client, seen } = await setup([failure(404, "NOT_FOUND_ERROR")]);
    await expect(collect(client.batches.results(ID))).rejects.toMatchObject({ code: "NOT_FOUND_ERROR" });
    expect(seen).toHaveLength(1);
  });

  test("as CSV are requested again after a 429 and a lost connection", async () => {
    const csv = "index,key\n0,a1\n";
    const limited = failure(429, "TOO_MANY_REQUESTS_ERROR");
    const { client, seen } = await setup([limited, "reset", sent(csv, { "content-type": "text/csv; charset=utf-8" })]);
    let text = "";
    for await (const piece of client.batches.resultsAsCsv(ID)) text += piece;
    expect(text).toBe(csv);
    expect(seen).toHaveLength(3);
  });

  /** @returns a function that lets more time pass than a stream may be silent. */
  function useClock(): () => Promise<void> {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    return async () => {
      await nextTurn(); // the reader is waiting by now
      vi.advanceTimersByTime(31_000);
    };
  }

  test("continue however long a reader takes for each part", async () => {
    const csv = "0,a1\n".repeat(500_000);
    const { client } = await setup([sent(csv, { "content-type": "text/csv; charset=utf-8" })]);
    const passTime = useClock();
    let length = 0;
    for await (const piece of client.batches.resultsAsCsv(ID)) {
      length += piece.length;
      await passTime();
    }
    expect(length).toBe(csv.length);
  });

  test("are requested again when the server stops sending", async () => {
    const { client, seen } = await setup([sent(lines(0), {}, true), sent(lines(1))]);
    const passTime = useClock();
    const results = client.batches.results(ID);
    expect((await results.next()).value).toEqual(result(0));
    const next = results.next();
    await passTime();
    expect((await next).value).toEqual(result(1));
    expect(seen.map(({ url }) => url.split("?")[1])).toEqual([undefined, "startingAfter=0"]);
  });

  test("fail after as many consecutive failures as the client has retries", async () => {
    const { client, seen } = await setup(["reset"], { maxRetries: 2 });
    await expect(collect(client.batches.results(ID))).rejects.toThrow("No connection to");
    expect(seen).toHaveLength(3);
  });
});

test("runBatch creates one batch despite lost responses, and reports each change until its end", async () => {
  const { client, seen } = await setup([
    "reset",
    failure(500, "SERVER_ERROR"),
    success(batch(0, null)),
    success(batch(0, null)),
    "reset",
    success(batch(1, null)),
    success(batch(1, null)),
    success(batch(2, "2026-11-20T09:20:00.000Z")),
    sent(lines(0, 1)),
  ]);
  const progress: number[] = [];
  const runs = [{ inputs: { topic: "tea", tags: ["a", "b"] }, key: "k" }, { images: ["https://x.example/a.png"] }];
  const finished = await client.runBatch(VERSION, runs, {
    options: { quality: "high" },
    name: "two",
    onProgress: ({ counts }) => progress.push(counts.succeeded),
  });
  expect(progress).toEqual([0, 1, 2]);
  expect(new Set(seen.slice(0, 3).map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
    promptVersionId: VERSION,
    items: [
      { inputs: { textInputs: { topic: "tea", tags: "a,b" }, imageInputs: [] }, key: "k" },
      { inputs: { textInputs: {}, imageInputs: [{ type: "url", url: "https://x.example/a.png" }] } },
    ],
    runOptions: { quality: "high" },
    name: "two",
  });
  expect((await collect(finished.results())).map(({ index }) => index)).toEqual([0, 1]);
});

test("runBatch with a prompt id runs the prompt's latest version", async () => {
  const { client, seen } = await setup([
    failure(404, "NOT_FOUND_ERROR"),
    success({ promptVersionId: VERSION }),
    success(batch(2, null)),
    success(batch(2, "2026-11-20T09:20:00.000Z")),
  ]);
  await client.runBatch(ID, [{}]);
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST /v1/batches",
    `GET /v1/prompts/${ID}`,
    "POST /v1/batches",
    `GET /v1/batches/${ID}`,
  ]);
  expect(JSON.parse(seen[2]?.body ?? "")).toMatchObject({ promptVersionId: VERSION });
});
