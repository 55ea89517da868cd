/** GET /v1/runs against a plain list in memory: whatever is asked, both give the same rows and the same hasMore. */
import type { ListRunsQuery, RunStatus } from "@promptd/contract";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt } from "../prompts/prompt-files.ts";
import { bodyOf } from "./requests.ts";

interface Known {
  readonly id: string;
  readonly ms: number;
  readonly status: RunStatus;
}

const RUNS = 24;
let server: TestServer;
let caller: TestCaller;
/** Newest first. */
let known: readonly Known[] = [];

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  const { promptVersionId } = await server.publish(directedPrompt({ model: "sandbox/text-free" }));
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, i) =>
      caller.client.runs.create(bodyOf(promptVersionId, { do: i % 3 === 0 ? "refuse" : "tokens=3" })),
    ),
  );
  known = runs
    .map(({ runId: id, runStatus: status }) => ({
      id,
      status,
      ms: Number.parseInt(id.replace("-", "").slice(0, 12), 16),
    }))
    .sort((a, b) => (a.id < b.id ? 1 : -1));
});
afterAll(() => server.close());

/** The rules of the specification, word for word, over an array. */
function expected(query: ListRunsQuery): { ids: string[]; hasMore: boolean } {
  const { startingAfter, endingBefore, status, since, until, limit = 10 } = query;
  const fitting = known.filter(
    (run) =>
      (status === undefined || run.status === status) &&
      (since === undefined || run.ms >= since) &&
      (until === undefined || run.ms < until) &&
      (startingAfter === undefined || run.id < startingAfter) &&
      (endingBefore === undefined || run.id > endingBefore),
  );
  const page = endingBefore === undefined ? fitting.slice(0, limit) : fitting.slice(-limit);
  return { ids: page.map(({ id }) => id), hasMore: fitting.length > limit };
}

test("rows and hasMore match the model for every query", async () => {
  const index = fc.nat(RUNS - 1);
  const time = fc.tuple(index, fc.integer({ min: -2, max: 2 }));
  const queries = fc.record({
    limit: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
    cursor: fc.option(fc.tuple(fc.constantFrom("startingAfter", "endingBefore"), index), { nil: null }),
    status: fc.option(fc.constantFrom("queued", "running", "succeeded", "failed"), { nil: undefined }),
    since: fc.option(time, { nil: null }),
    until: fc.option(time, { nil: null }),
  });
  const moment = (at: readonly [number, number] | null) => (at === null ? undefined : (known[at[0]]?.ms ?? 0) + at[1]);
  await fc.assert(
    fc.asyncProperty(queries, async ({ limit, cursor, status, since, until }) => {
      const [from, to] = [moment(since), moment(until)];
      fc.pre(from === undefined || to === undefined || from < to);
      const query: ListRunsQuery = { limit, status, since: from, until: to };
      const asked = cursor === null ? query : { ...query, [cursor[0]]: known[cursor[1]]?.id };
      const { rows, hasMore } = await caller.client.runs.list(asked);
      expect({ ids: rows.map(({ runId }) => runId), hasMore }).toEqual(expected(asked));
    }),
    { numRuns: 150 },
  );
});
