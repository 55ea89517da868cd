// With BENCH_BATCHES, configured as its performance page says (a local queue, batched completions), otherwise with its defaults.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { serveRounds } from "../harness/queue-rounds.ts";

const connectionString = process.env.DATABASE_URL;
const logger = new Logger(() => () => {});
const batches =
  process.env.BENCH_BATCHES === undefined
    ? {}
    : { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const worker = { connectionString, concurrentJobs: 24, maxPoolSize: 25, ...batches };
const utils = await makeWorkerUtils({ connectionString, logger, maxPoolSize: 20 });
await utils.migrate();
const done = serveRounds((job) => utils.addJob("noop", { job }));
await run({
  preset: { worker },
  logger,
  noHandleSignals: true,
  taskList: { noop: ({ job }) => done(job) },
});
