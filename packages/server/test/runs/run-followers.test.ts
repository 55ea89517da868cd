/** What followers of a run receive, in whatever order the database responds. */
import { expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { RunFollowers } from "../../src/runs/wait/run-followers.ts";
import { openEngine } from "./engine-fixture.ts";
import { until } from "../support/promptd-process.ts";

test("a slow response does not bring back an earlier state", async () => {
  const engine = await openEngine();
  const account = await engine.createAccount();
  const runId = await engine.createRun(account);
  const [isRead, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [asked, answered] = [0, 0];
  const pipelined: Database["pipelined"] = async <Row extends object>(...query: Parameters<Database["pipelined"]>) => {
    if (query[0].name !== "run_statuses") return engine.db.pipelined<Row>(...query);
    asked += 1;
    const isFirst = asked === 1;
    const rows = await engine.db.pipelined<Row>(...query);
    if (isFirst) {
      isRead.resolve();
      await released.promise;
    }
    answered += 1;
    return rows;
  };
  const followers = new RunFollowers({ ...engine.db, pipelined }, createLog("silent"));
  const follower = followers.follow({ accountId: account, runId }, { status: "queued", after: "0" });
  const states: (string | null)[] = [];
  const follow = async () => {
    for (let news = await follower.next(60_000); news !== null; news = await follower.next(60_000))
      states.push(news.status);
  };
  const following = follow();
  await isRead.promise; // as queued
  await engine.claim(await engine.registerWorker());
  let polls = 0;
  const everySecond = setInterval(() => (polls += 1), 1_000);
  await until(() => polls === 3);
  clearInterval(everySecond);
  const before = asked;
  released.resolve();
  await until(() => asked > before && answered === asked && states.length > 0);
  follower.interrupt();
  await following;
  expect(states).toEqual(["running"]);
  follower.close();
  await engine.close();
});
