/** GET /v1/runs: order, cursors, filters, hasMore (specification, "List runs"). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt, promptFile } from "../prompts/prompt-files.ts";
import { bodyOf, cancelRun, errorOf, get, issuesOf, listOf, RANDOM_ID, startRun } from "./requests.ts";

const RUNS = 60;
let server: TestServer;
let caller: TestCaller;
let promptVersionId = "";
/** Newest first. */
let ids: string[] = [];

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller({ credits: 10_000 });
  ({ promptVersionId } = await server.publish(promptFile({ model: "sandbox/text-free" })));
  for (let i = 0; i < RUNS; i += 1) {
    const { runId } = await caller.client.runs.create(bodyOf(promptVersionId));
    ids.unshift(runId);
  }
});
afterAll(() => server.close());

const list = async (query = "") => listOf(await get(caller.client, `/v1/runs${query}`));
const idsOf = async (query = "") => (await list(query)).rows.map(({ runId }) => runId);

describe("a page", () => {
  test("has exactly rows and hasMore, newest first, 10 by default", async () => {
    const page = await list();
    expect(Object.keys(page).toSorted()).toEqual(["hasMore", "rows"]);
    expect(page.rows.map(({ runId }) => runId)).toEqual(ids.slice(0, 10));
    expect(page.hasMore).toBe(true);
  });

  test("has rows of exactly the list shape, with the creation time of the id", async () => {
    const [row] = (await list("?limit=1")).rows;
    expect(row).toEqual({
      runId: ids[0],
      promptVersionId,
      outputs: [{ type: "text", data: expect.any(String) }],
      runStatus: "succeeded",
      credits: null,
      runName: "Wire test",
      createdAt: new Date(timeOf(ids[0])).toISOString(),
    });
  });

  test("of an account without runs is empty", async () => {
    const { client } = await server.createCaller();
    expect(await client.runs.list()).toEqual({ rows: [], hasMore: false });
  });

  test("shows only the caller's own runs, whatever else is requested", async () => {
    const other = await server.createCaller();
    const answer = await get(
      other.client,
      `/v1/runs?accountId=${caller.accountId}&account_id=${caller.accountId}&user=x`,
    );
    expect(listOf(answer)).toEqual({ rows: [], hasMore: false });
    expect(answer.headers.get("x-ignored")).toBe("accountId, account_id, user");
  });

  test("of a run in progress shows outputs [], and credits 0 or null", async () => {
    const own = await server.createCaller();
    const paid = await server.publish(directedPrompt());
    const free = await server.publish(directedPrompt({ model: "sandbox/text-free" }));
    const started = [
      await startRun(own.client, bodyOf(paid.promptVersionId, { do: "delay=600000" })),
      await startRun(own.client, bodyOf(free.promptVersionId, { do: "delay=600000" })),
    ];
    const { rows } = await own.client.runs.list();
    expect(rows.map(({ outputs, credits }) => ({ outputs, credits }))).toEqual([
      { outputs: [], credits: null },
      { outputs: [], credits: 0 },
    ]);
    for (const runId of started) await cancelRun(own.client, runId);
  });
});

function timeOf(id = ""): number {
  return Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}

describe("limit", () => {
  test.each([1, 7, 50])("%i is the size of the page", async (limit) => {
    expect(await idsOf(`?limit=${limit}`)).toEqual(ids.slice(0, limit));
  });

  test.each(["0", "51", "-1", "1.5", "1e1", "0x10", " 10 ", "+10", "ten", "10000000000", "٣"])(
    "%s is 422, never clamped",
    async (limit) => {
      const answer = await get(caller.client, `/v1/runs?limit=${encodeURIComponent(limit)}`);
      expect(answer.httpStatus).toBe(422);
      expect(issuesOf(answer)).toEqual([
        {
          path: ["query", "limit"],
          code: "invalid_value",
          message: `limit must be an integer from 1 to 50, got "${limit}".`,
        },
      ]);
    },
  );

  test.each(["?limit=", "?limit", "?limit=5&limit=5"])("%s is 422: empty or repeated", async (query) => {
    expect((await get(caller.client, `/v1/runs${query}`)).httpStatus).toBe(422);
  });

  test("with leading zeros is a number", async () => {
    expect(await idsOf("?limit=0005")).toEqual(ids.slice(0, 5));
  });
});

describe("startingAfter", () => {
  test("returns the runs created before it", async () => {
    expect(await idsOf(`?startingAfter=${ids[9]}`)).toEqual(ids.slice(10, 20));
  });

  test.each([1, 7, 10, 50])("walks over all runs in pages of %i without a gap or a repeat", async (limit) => {
    const seen: string[] = [];
    for (let hasMore = true; hasMore;) {
      const after = seen.length === 0 ? "" : `&startingAfter=${seen.at(-1)}`;
      const page = await list(`?limit=${limit}${after}`);
      seen.push(...page.rows.map(({ runId }) => runId));
      hasMore = page.hasMore;
    }
    expect(seen).toEqual(ids);
  });

  test("hasMore is false exactly when the page holds the oldest run", async () => {
    expect(await list(`?limit=10&startingAfter=${ids[49]}`)).toMatchObject({ hasMore: false, rows: { length: 10 } });
    expect(await list(`?limit=9&startingAfter=${ids[49]}`)).toMatchObject({ hasMore: true, rows: { length: 9 } });
    expect(await list(`?startingAfter=${ids[59]}`)).toEqual({ rows: [], hasMore: false });
  });
});

describe("endingBefore", () => {
  test("returns the newer runs nearest to it, still newest first", async () => {
    expect(await idsOf(`?limit=5&endingBefore=${ids[20]}`)).toEqual(ids.slice(15, 20));
  });

  test.each([1, 7, 50])("walks back to the newest run in pages of %i without a gap or a repeat", async (limit) => {
    const seen: string[] = [ids[59] ?? ""];
    for (let hasMore = true; hasMore;) {
      const page = await list(`?limit=${limit}&endingBefore=${seen[0]}`);
      seen.unshift(...page.rows.map(({ runId }) => runId));
      hasMore = page.hasMore;
    }
    expect(seen).toEqual(ids);
  });

  test("hasMore is false exactly when the page holds the newest run", async () => {
    expect(await list(`?limit=10&endingBefore=${ids[10]}`)).toMatchObject({ hasMore: false, rows: { length: 10 } });
    expect(await list(`?limit=9&endingBefore=${ids[10]}`)).toMatchObject({ hasMore: true, rows: { length: 9 } });
    expect(await list(`?endingBefore=${ids[0]}`)).toEqual({ rows: [], hasMore: false });
  });

  test("the page's first run leads back to the page before", async () => {
    const second = await list(`?startingAfter=${ids[9]}`);
    expect(await idsOf(`?endingBefore=${second.rows[0]?.runId}`)).toEqual(ids.slice(0, 10));
  });
});

describe("outputs that are large", () => {
  const MIB = 2 ** 20;
  /** Newest first; one of them is larger than a page may be. */
  const sizes = [1, 14, 6, 20, 1, 1].map((mib) => mib * MIB);
  const pages = [2, 1, 1, 2];
  let own: TestCaller;
  let large: string[] = [];

  beforeAll(async () => {
    own = await server.createCaller();
    large = [];
    for (const bytes of sizes.toReversed()) {
      const { runId } = await own.client.runs.create(bodyOf(promptVersionId));
      await server.app.db.query(
        `update runs set outputs = json_build_array(json_build_object('type', 'text', 'data', repeat('x', $2)))
         where id = $1`,
        [runId, bytes - 100],
      );
      large.unshift(runId);
    }
  });
  const page = async (query: string) => listOf(await get(own.client, `/v1/runs?limit=50${query}`));

  test("end a page early at 16 MiB, with at least one run, and the walk misses none", async () => {
    const seen: string[][] = [];
    for (let hasMore = true; hasMore;) {
      const last = seen.at(-1)?.at(-1);
      const { rows, ...more } = await page(last === undefined ? "" : `&startingAfter=${last}`);
      seen.push(rows.map(({ runId }) => runId));
      hasMore = more.hasMore;
    }
    expect(seen.map(({ length }) => length)).toEqual(pages);
    expect(seen.flat()).toEqual(large);
  });

  test("end a page early, also backwards, at the runs nearest to the cursor", async () => {
    const { rows, hasMore } = await page(`&endingBefore=${large[3]}`);
    expect([rows.map(({ runId }) => runId), hasMore]).toEqual([[large[2]], true]);
    const rest = await page(`&endingBefore=${large[2]}&status=succeeded`);
    expect([rest.rows.map(({ runId }) => runId), rest.hasMore]).toEqual([large.slice(0, 2), false]);
  });
});

describe("a cursor", () => {
  test.each(["startingAfter", "endingBefore"])("%s that is no UUID is 422", async (name) => {
    const answer = await get(caller.client, `/v1/runs?${name}=abc`);
    expect(issuesOf(answer)).toEqual([
      { path: ["query", name], code: "invalid_uuid", message: `${name} must be a UUID, got "abc".` },
    ]);
  });

  test.each(["startingAfter", "endingBefore"])("%s of no run is 422 unknown_cursor", async (name) => {
    const answer = await get(caller.client, `/v1/runs?${name}=${RANDOM_ID}`);
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([
      { path: ["query", name], code: "unknown_cursor", message: `${name} is not the id of one of your runs.` },
    ]);
  });

  test.each(["startingAfter", "endingBefore"])("%s of another account's run answers the same bytes", async (name) => {
    const other = await server.createCaller();
    const foreign = await get(other.client, `/v1/runs?${name}=${ids[5]}`);
    const unknown = await get(other.client, `/v1/runs?${name}=${RANDOM_ID}`);
    expect([foreign.httpStatus, foreign.text]).toEqual([422, unknown.text]);
  });

  test("both present are 422 conflict", async () => {
    const answer = await get(caller.client, `/v1/runs?startingAfter=${ids[3]}&endingBefore=${ids[1]}`);
    expect(answer.httpStatus).toBe(422);
    expect(errorOf(answer)).toEqual({
      status: "VALIDATION_ERROR",
      message: "Provide either startingAfter or endingBefore, not both.",
      data: {
        issues: [
          {
            path: ["query", "endingBefore"],
            code: "conflict",
            message: "Provide either startingAfter or endingBefore, not both.",
          },
        ],
      },
    });
  });

  test("in any case is the same cursor, and empty is 422", async () => {
    expect(await idsOf(`?limit=2&startingAfter=${ids[3]?.toUpperCase()}`)).toEqual(ids.slice(4, 6));
    expect((await get(caller.client, "/v1/runs?startingAfter=")).httpStatus).toBe(422);
  });

  test("need not match the filters", async () => {
    expect(await idsOf(`?status=failed&startingAfter=${ids[3]}`)).toEqual([]);
    expect(await idsOf(`?limit=2&until=${timeOf(ids[3])}&endingBefore=${ids[9]}`)).not.toContain(ids[3]);
  });
});

describe("status", () => {
  test("shows only runs of that status, as the rows say", async () => {
    const own = await server.createCaller();
    const { promptVersionId: version } = await server.publish(directedPrompt());
    const failed = await own.client.runs.create(bodyOf(version, { do: "refuse" }));
    const done = await own.client.runs.create(bodyOf(version, { do: "tokens=2" }));
    const running = await startRun(own.client, bodyOf(version, { do: "delay=600000" }));
    await expect
      .poll(async () => (await own.client.runs.list({ status: "running" })).rows.map(({ runId }) => runId))
      .toEqual([running]);
    const byStatus = async (status: "queued" | "succeeded" | "failed") =>
      (await own.client.runs.list({ status })).rows.map(({ runId, runStatus }) => [runId, runStatus]);
    expect(await byStatus("failed")).toEqual([[failed.runId, "failed"]]);
    expect(await byStatus("succeeded")).toEqual([[done.runId, "succeeded"]]);
    expect(await byStatus("queued")).toEqual([]);
    await cancelRun(own.client, running);
  });

  test.each(["SUCCEEDED", "done", "", "succeeded,failed"])("%s is 422", async (status) => {
    const answer = await get(caller.client, `/v1/runs?status=${status}`);
    expect(answer.httpStatus).toBe(422);
    expect(errorOf(answer).message).toContain("status must be one of: queued, running, succeeded, failed.");
  });
});

describe("since and until", () => {
  test("in milliseconds: since is inclusive, until exclusive", async () => {
    const at = timeOf(ids[30]);
    expect(await idsOf(`?limit=50&since=${at}`)).toEqual(ids.filter((id) => timeOf(id) >= at).slice(0, 50));
    expect(await idsOf(`?limit=50&until=${at}`)).toEqual(ids.filter((id) => timeOf(id) < at).slice(0, 50));
    const [from, to] = [timeOf(ids[40]), timeOf(ids[20])];
    expect(await idsOf(`?limit=50&since=${from}&until=${to}`)).toEqual(
      ids.filter((id) => timeOf(id) >= from && timeOf(id) < to),
    );
  });

  test("in seconds mean the whole second", async () => {
    const second = Math.floor(timeOf(ids[0]) / 1_000);
    expect(await idsOf(`?limit=50&since=${second}`)).toEqual(
      ids.filter((id) => timeOf(id) >= second * 1_000).slice(0, 50),
    );
    expect(await idsOf(`?limit=50&until=${second}`)).toEqual(
      ids.filter((id) => timeOf(id) < second * 1_000).slice(0, 50),
    );
    expect(await idsOf(`?since=${second + 3_600}`)).toEqual([]);
  });

  test("may be given alone, together with a cursor and with a status", async () => {
    const at = timeOf(ids[30]);
    expect(await idsOf(`?limit=5&since=${at}&startingAfter=${ids[10]}&status=succeeded`)).toEqual(ids.slice(11, 16));
    expect(await list(`?limit=50&since=${at}&startingAfter=${ids[29]}`)).toMatchObject({ hasMore: false });
  });

  test.each(["since=200&until=200", "since=201&until=200", "since=1795169730&until=1795169730000"])(
    "%s is 422: since is not before until, in whichever units",
    async (query) => {
      const answer = await get(caller.client, `/v1/runs?${query}`);
      expect(answer.httpStatus).toBe(422);
      expect(errorOf(answer).message).toBe("since must be earlier than until.");
    },
  );

  test.each(["yesterday", "-1", "1.5", "1e9", "2026-11-20", "8640000000000001", "12345678901234567"])(
    "%s is no time",
    async (time) => {
      const answer = await get(caller.client, `/v1/runs?since=${time}`);
      expect(issuesOf(answer)).toEqual([
        {
          path: ["query", "since"],
          code: "invalid_value",
          message: `since must be a Unix timestamp such as 1795169730, got "${time}".`,
        },
      ]);
    },
  );

  test("at the ends of time are legal", async () => {
    expect(await idsOf("?since=0&until=8640000000000000&limit=2")).toEqual(ids.slice(0, 2));
    expect(await idsOf("?since=8640000000000000")).toEqual([]);
    expect(await idsOf("?until=0")).toEqual([]);
  });
});

test("all problems of the query are reported at once, and unknown parameters are ignored", async () => {
  const answer = await get(caller.client, "/v1/runs?limit=0&status=x&since=a&startingAfter=b&page=2");
  expect(issuesOf(answer).map(({ path }) => path[1])).toEqual(["limit", "startingAfter", "status", "since"]);
  expect(answer.headers.get("x-ignored")).toBe("page");
});

test("the client's listAll walks over everything", async () => {
  const seen: string[] = [];
  for await (const { runId } of caller.client.runs.listAll({ limit: 25 })) seen.push(runId);
  expect(seen).toEqual(ids);
});
