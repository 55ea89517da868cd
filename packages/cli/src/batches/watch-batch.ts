import type { Client } from "@promptd/client";
import type { Batch, BatchResult } from "@promptd/contract";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CommandFailure, stopCode, type CommandArgs, type CommandIo } from "../command.ts";
import { draftOf } from "../files/check-writable.ts";
import { describeWriteFailure } from "../files/file-failure.ts";
import { printableLine } from "../printable.ts";
import { createBatchView, formatBatch } from "./batch-view.ts";

export interface Watched {
  readonly batchId: string;
  /** Where results go; undefined: standard output, unless it is a terminal. */
  readonly out: string | undefined;
}

/** The extension determines the format of the results. @throws CommandFailure for any other extension. */
export function readResultsFile(args: CommandArgs): string | undefined {
  const out = args.text("out");
  if (out === undefined || /\.(csv|jsonl)$/i.test(out)) return out;
  throw new CommandFailure(`--out must end in .jsonl or .csv, got "${printableLine(out)}".`);
}

/**
 * Watches a batch until all of its items have ended, and outputs its results.
 * @returns the exit code: 1 unless every run succeeded.
 */
export async function watchBatch(client: Client, { batchId, out }: Watched, io: CommandIo): Promise<number> {
  const view = createBatchView(io);
  let batch: Batch;
  try {
    batch = await client.batches.wait(batchId, { onProgress: (seen) => view.see(seen), signal: io.signal });
  } catch (error) {
    throw io.signal.aborted ? stoppedWatching(batchId, error) : error;
  } finally {
    view.stop();
  }
  await giveResults(client, batch, { out, io });
  return batch.counts.succeeded === batch.counts.total ? 0 : 1;
}

function stoppedWatching(batchId: string, cause: unknown): CommandFailure {
  const hint = `It continues: promptd batches watch ${batchId}\nTo end it: promptd batches cancel ${batchId}`;
  return new CommandFailure("Stopped waiting for the batch.", { hint, cause, exitCode: stopCode(cause) });
}

interface GivenResults {
  readonly out: string | undefined;
  readonly io: CommandIo;
  /** True: the command's only purpose is the results. */
  readonly isExplicit?: boolean;
}

/** Writes results to a file, or to a pipe as JSON lines. On a terminal, says how to get them. */
export async function giveResults(
  client: Client,
  batch: Batch,
  { out, io, isExplicit = false }: GivenResults,
): Promise<void> {
  if (out !== undefined) {
    await saveResults(client, batch.batchId, { out, io });
    io.note(`Saved ${out}`);
    return io.result(batch, formatBatch(batch));
  }
  if (io.json && !isExplicit) return io.result(batch, "");
  if (io.terminal.isOut && !isExplicit) {
    return io.result(batch, `${formatBatch(batch)}\nResults: promptd batches results ${batch.batchId} --out FILE.csv`);
  }
  if (!isExplicit) io.note(formatBatch(batch));
  const results: BatchResult[] = [];
  for await (const result of client.batches.results(batch.batchId, { signal: io.signal })) results.push(result);
  const lines = results.map((result) => JSON.stringify(result));
  io.result({ ...batch, results }, lines.join("\n"));
}

/** Writes a file completely or not at all. */
async function saveResults(
  client: Client,
  batchId: string,
  { out, io }: { readonly out: string; readonly io: CommandIo },
): Promise<void> {
  const path = resolve(io.directory, out);
  const draft = draftOf(path);
  const { signal } = io;
  const text = /\.csv$/i.test(out)
    ? client.batches.resultsAsCsv(batchId, { signal })
    : jsonLines(client.batches.results(batchId, { signal }));
  try {
    await pipeline(Readable.from(text, { objectMode: false }), createWriteStream(draft));
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    const isFile = error instanceof Error && "syscall" in error;
    if (!isFile) throw error;
    const hint = `The results are safe. Save them elsewhere with: promptd batches results ${batchId} --out FILE`;
    throw new CommandFailure(describeWriteFailure(out, error), { hint, cause: error });
  }
}

async function* jsonLines(results: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const result of results) yield `${JSON.stringify(result)}\n`;
}
