import { countOf } from "@promptd/contract";
import { Skipped, type Group } from "../check.ts";
import { expectData, expectRows, expectThat, type Json } from "../expect.ts";
import type { ConformContext } from "../context.ts";
import { ABSENT_ID, BAD_IDS, fieldChecks, refusalChecks, type ConformCheck } from "./table.ts";

const LIST = "GET /v1/runs";

async function readRuns(context: ConformContext) {
  await context.run().catch(() => {}); // an account without credits may have older runs
  const exchange = await context.answer("/v1/runs");
  return { objects: expectRows(exchange), exchange };
}

const timeOf = (row: Json | undefined): number => Date.parse(String(row?.["createdAt"]));
const idOf = (row: Json | undefined): string => String(row?.["runId"]);

const rows: Group<ConformContext> = {
  title: "Listing runs",
  checks: [
    ...fieldChecks({ what: "the list", section: LIST }, { rows: "array", hasMore: "boolean" }, async (context) => {
      const exchange = await context.answer("/v1/runs");
      return { objects: [expectData(exchange)], exchange };
    }),
    ...fieldChecks(
      { what: "each row", section: "Run" },
      {
        runId: "text",
        promptVersionId: "text",
        outputs: "array",
        runStatus: "runStatus",
        credits: "integerOrNull",
        runName: "text",
        createdAt: "time",
      },
      readRuns,
    ),
    {
      name: "the list is newest first",
      section: LIST,
      run: async (context) => {
        const { objects, exchange } = await readRuns(context);
        const times = objects.map((row) => timeOf(row));
        const isOrdered = times.every((time, index) => index === 0 || time <= (times[index - 1] ?? 0));
        expectThat(isOrdered, "createdAt values that never increase", exchange);
      },
    },
    {
      name: "the run that was created is in the list",
      section: LIST,
      run: async (context) => {
        const { runId } = await context.run();
        const exchange = await context.send("/v1/runs?limit=50");
        expectThat(
          expectRows(exchange).some((row) => idOf(row) === runId),
          `a row with the runId ${runId}`,
          exchange,
        );
      },
    },
    {
      name: "the list has at most 10 rows by default",
      section: "Limits, limit parameter",
      run: async (context) => {
        const { objects, exchange } = await readRuns(context);
        expectThat(objects.length <= 10, "at most 10 rows", exchange);
      },
    },
    ...[1, 50].map((limit): ConformCheck => ({
      name: `limit=${limit} returns at most ${countOf(limit, "row")}`,
      section: "Limits, limit parameter",
      run: async (context) => {
        await readRuns(context);
        const exchange = await context.send(`/v1/runs?limit=${limit}`);
        expectThat(expectRows(exchange).length <= limit, `at most ${countOf(limit, "row")}`, exchange);
      },
    })),
    ...refusalChecks(
      LIST,
      ["0", "51", "-1", "1.5", "ten", "1e1"].map((limit) => ({
        name: `limit=${limit} is rejected with 422`,
        path: `/v1/runs?limit=${limit}`,
      })),
    ),
    {
      name: "another account does not see the run",
      section: "Authentication 5",
      run: async (context) => {
        if (context.otherKey === null) throw new Skipped("Pass a key of another account with --other-key.");
        const { runId } = await context.run();
        const exchange = await context.send("/v1/runs?limit=50", { authorization: `Bearer ${context.otherKey}` });
        expectThat(!expectRows(exchange).some((row) => idOf(row) === runId), "only the caller's rows", exchange);
      },
    },
  ],
};

/** @throws Skipped when the account has fewer than two runs. */
async function readTwoRuns(context: ConformContext): Promise<readonly [Json, Json]> {
  await readRuns(context);
  const [first, second] = expectRows(await context.send("/v1/runs?limit=2"));
  if (first === undefined || second === undefined) throw new Skipped("The account has fewer than two runs.");
  return [first, second];
}

const pages: Group<ConformContext> = {
  title: "Pages of the list",
  checks: [
    {
      name: "startingAfter returns runs created before that run",
      section: "GET /v1/runs, rule 3",
      run: async (context) => {
        const [first, second] = await readTwoRuns(context);
        const exchange = await context.send(`/v1/runs?limit=1&startingAfter=${idOf(first)}`);
        expectThat(idOf(expectRows(exchange)[0]) === idOf(second), `the run ${idOf(second)}`, exchange);
      },
    },
    {
      name: "endingBefore returns runs created after that run",
      section: LIST,
      run: async (context) => {
        const [first, second] = await readTwoRuns(context);
        const exchange = await context.send(`/v1/runs?limit=1&endingBefore=${idOf(second)}`);
        expectThat(idOf(expectRows(exchange)[0]) === idOf(first), `the run ${idOf(first)}`, exchange);
      },
    },
    {
      name: "hasMore is true while there are more",
      section: LIST,
      run: async (context) => {
        await readTwoRuns(context);
        const exchange = await context.send("/v1/runs?limit=1");
        expectThat(expectData(exchange)["hasMore"] === true, "hasMore true before the second run", exchange);
      },
    },
    {
      name: "nothing is newer than the newest run",
      section: LIST,
      run: async (context) => {
        const { runId } = await context.run();
        const exchange = await context.send(`/v1/runs?endingBefore=${runId}`);
        const ids = expectRows(exchange).map((row) => idOf(row));
        expectThat(!ids.includes(runId), "no row of the run itself", exchange);
      },
    },
    {
      name: "a page does not repeat the run that it starts after",
      section: "GET /v1/runs, rule 3",
      run: async (context) => {
        const { runId } = await context.run();
        const exchange = await context.send(`/v1/runs?startingAfter=${runId}`);
        expectThat(!expectRows(exchange).some((row) => idOf(row) === runId), "no row of the run itself", exchange);
      },
    },
    ...refusalChecks("GET /v1/runs, rule 1", [
      {
        name: "both cursors are rejected with 422",
        path: `/v1/runs?startingAfter=${ABSENT_ID}&endingBefore=${ABSENT_ID}`,
      },
    ]),
    ...refusalChecks(
      LIST,
      ["startingAfter", "endingBefore"].flatMap((cursor) =>
        Object.entries(BAD_IDS).map(([what, id]) => ({
          name: `${cursor} that is ${what} is rejected with 422`,
          path: `/v1/runs?${cursor}=${id}`,
        })),
      ),
    ),
  ],
};

const filters: Group<ConformContext> = {
  title: "Filters of the list",
  checks: [
    ...["queued", "running", "succeeded", "failed"].map((status): ConformCheck => ({
      name: `status=${status} returns only runs with that status`,
      section: LIST,
      run: async (context) => {
        await readRuns(context);
        const exchange = await context.send(`/v1/runs?status=${status}`);
        const isOnly = expectRows(exchange).every((row) => row["runStatus"] === status);
        expectThat(isOnly, `runStatus ${status} in each row`, exchange);
      },
    })),
    {
      name: "since includes the second in which a run was created",
      section: LIST,
      run: async (context) => {
        const { runId, seconds } = await readCreated(context);
        const exchange = await context.send(`/v1/runs?limit=50&since=${seconds}`);
        expectThat(
          expectRows(exchange).some((row) => idOf(row) === runId),
          `a row with the runId ${runId}`,
          exchange,
        );
      },
    },
    {
      name: "since excludes runs created earlier",
      section: LIST,
      run: async (context) => {
        const { seconds } = await readCreated(context);
        const exchange = await context.send(`/v1/runs?since=${seconds + 3_600}`);
        expectThat(expectRows(exchange).length === 0, "no rows from the future", exchange);
      },
    },
    {
      name: "until excludes the second in which a run was created",
      section: LIST,
      run: async (context) => {
        const { runId, seconds } = await readCreated(context);
        const exchange = await context.send(`/v1/runs?limit=50&until=${seconds}`);
        expectThat(!expectRows(exchange).some((row) => idOf(row) === runId), `no row of the run ${runId}`, exchange);
      },
    },
    {
      name: "since and until include runs created between them",
      section: LIST,
      run: async (context) => {
        const { runId, seconds } = await readCreated(context);
        const exchange = await context.send(`/v1/runs?limit=50&since=${seconds}&until=${seconds + 1}`);
        expectThat(
          expectRows(exchange).some((row) => idOf(row) === runId),
          `a row with the runId ${runId}`,
          exchange,
        );
      },
    },
    ...refusalChecks("GET /v1/runs, rule 2", [
      { name: "since after until is rejected with 422", path: "/v1/runs?since=1700000001&until=1700000000" },
      { name: "since equal to until is rejected with 422", path: "/v1/runs?since=1700000000&until=1700000000" },
    ]),
    ...refusalChecks(LIST, [
      { name: "an unknown status is rejected with 422", path: "/v1/runs?status=done" },
      { name: "a status in capitals is rejected with 422", path: "/v1/runs?status=SUCCEEDED" },
      { name: "since that is not a number is rejected with 422", path: "/v1/runs?since=yesterday" },
      { name: "until that is not a number is rejected with 422", path: "/v1/runs?until=tomorrow" },
      { name: "since with a fraction is rejected with 422", path: "/v1/runs?since=1700000000.5" },
    ]),
  ],
};

/** When the run was created, in whole seconds. */
async function readCreated(context: ConformContext): Promise<{ readonly runId: string; readonly seconds: number }> {
  const { runId } = await context.run();
  const exchange = await context.answer("/v1/runs?limit=50");
  const row = expectRows(exchange).find((one) => idOf(one) === runId);
  expectThat(row !== undefined, `a row with the runId ${runId}`, exchange);
  return { runId, seconds: Math.floor(timeOf(row) / 1_000) };
}

export const LIST_GROUPS: readonly Group<ConformContext>[] = [rows, pages, filters];
