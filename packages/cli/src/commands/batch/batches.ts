import type { Command } from "../../command.ts";
import { formatBatch, formatBatchRows } from "../../batches/batch-view.ts";
import { giveResults, readResultsFile, watchBatch } from "../../batches/watch-batch.ts";
import { readId, readWholeNumber } from "../../flag-values.ts";
import { withSession } from "../../session.ts";

const ID = "01a1f90c-6c02-7e4f-9b1d-3d8e5f20a7c4";
const OUT = { type: "string", value: "FILE.jsonl|FILE.csv", summary: "save the results to this file" } as const;

export const batchesList: Command = {
  summary: "List your batches, newest first",
  usage: "",
  session: `$ promptd batches list
BATCH                                 STATUS    DONE  FAILED  OF    CREDITS  CREATED              NAME
${ID}  running   1196  6       5000  2380     2026-11-20 09:15:30  topics.csv`,
  options: {
    limit: { type: "string", short: "n", value: "N", summary: "rows per page, 1 to 50 (default: 10)" },
    after: { type: "string", value: "BATCH", summary: "the next page: batches older than this one" },
  },
  async run(args, io) {
    const startingAfter = readId(args.text("after"), "--after", "batch");
    const query = { limit: readWholeNumber(args.text("limit"), "--limit"), startingAfter };
    const page = await withSession(io, ({ client }) => client.batches.list(query, { signal: io.signal }));
    const last = page.rows.at(-1);
    const more = page.hasMore && last !== undefined ? `\n\nMore: promptd batches list --after ${last.batchId}` : "";
    io.result(page, formatBatchRows(page.rows) + more);
  },
};

export const batchesGet: Command = {
  summary: "Show the progress of a batch",
  usage: "<batchId>",
  session: `$ promptd batches get ${ID}
${ID}  running  1,196 of 5,000 done, 6 failed, 25 in progress, 2380 credits
Created 2026-11-20 09:15:30 from topics.csv`,
  options: {},
  async run(args, io) {
    const [batchId = ""] = args.positionals;
    const batch = await withSession(io, ({ client }) => client.batches.get(batchId, { signal: io.signal }));
    io.result(batch, formatBatch(batch));
  },
};

export const batchesWatch: Command = {
  summary: "Watch a batch until it ends, then print its results",
  usage: "<batchId>",
  details:
    "Results go to the --out file, or to a pipe as JSON lines. The exit code is 1 unless every run succeeded, and 130 after Ctrl-C, which stops watching but not the batch.",
  session: `$ promptd batches watch ${ID} --out results.csv
Saved results.csv`,
  options: { out: OUT },
  async run(args, io) {
    const [batchId = ""] = args.positionals;
    const out = readResultsFile(args);
    return withSession(io, ({ client }) => watchBatch(client, { batchId, out }, io));
  },
};

export const batchesResults: Command = {
  summary: "Print the results of a batch so far, even before it ends",
  usage: "<batchId>",
  details:
    "Without --out, results go to standard output as JSON lines, one for each item that has ended. With --json, they are the batch's `results`.",
  session: `$ promptd batches results ${ID} | head -1
{"index":0,"key":"a1","status":"succeeded","runId":"01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a", …}
$ promptd batches results ${ID} --out results.csv
Saved results.csv`,
  options: { out: OUT },
  async run(args, io) {
    const [batchId = ""] = args.positionals;
    const out = readResultsFile(args);
    await withSession(io, async ({ client }) => {
      const batch = await client.batches.get(batchId, { signal: io.signal });
      await giveResults(client, batch, { out, io, isExplicit: true });
    });
  },
};

export const batchesCancel: Command = {
  summary: "Cancel a batch: no more items are started, and runs in progress are canceled",
  usage: "<batchId>",
  details: "A batch that has already ended stays as it is, and the exit code is 0.",
  session: `$ promptd batches cancel ${ID}
${ID}  canceled  1,221 of 5,000 done, 6 failed, 25 canceled, 2380 credits
Created 2026-11-20 09:15:30 from topics.csv`,
  options: {},
  async run(args, io) {
    const [batchId = ""] = args.positionals;
    const batch = await withSession(io, ({ client }) => client.batches.cancel(batchId, { signal: io.signal }));
    io.result(batch, formatBatch(batch));
    if (batch.batchStatus === "finished") io.note("Nothing to cancel: the batch has already ended.");
  },
};

export const batchesResume: Command = {
  summary: "Resume a paused batch with the current API key",
  usage: "<batchId>",
  details:
    "A batch that is paused for lack of credits resumes by itself. A batch whose key was revoked needs another key.",
  session: `$ promptd batches resume ${ID}
${ID}  running  1,196 of 5,000 done, 6 failed, 2380 credits
Created 2026-11-20 09:15:30 from topics.csv`,
  options: {},
  async run(args, io) {
    const [batchId = ""] = args.positionals;
    const batch = await withSession(io, ({ client }) => client.batches.resume(batchId, { signal: io.signal }));
    io.result(batch, formatBatch(batch));
    if (batch.batchStatus !== "canceled") return 0;
    io.note(
      "The batch was canceled and cannot be resumed. To run all rows again: promptd run PROMPT --batch FILE --again",
    );
    return 1;
  },
};
