// Batches of 50, woken by notifications and fetched back to back while they are full: the fastest setup in its guide.
import { PgBoss } from "pg-boss";
import { serveRounds } from "../harness/queue-rounds.ts";

const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, max: 20, useListenNotify: true });
boss.on("error", (error) => {
  throw error;
});
await boss.start();
await boss.createQueue("jobs", { notify: true });
const done = serveRounds((job) => boss.send("jobs", { job }));
const options = { batchSize: 50, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
await boss.work("jobs", options, async (jobs) => {
  for (const { data } of jobs) done(data.job); // the completion is stored a moment later
});
