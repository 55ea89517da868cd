/** `promptd run SLUG --batch FILE`: one run for each row of a file, created once even if the command runs again. */
import { PromptdError, type Client } from "@promptd/client";
import type { Batch, CreateBatchBody, PromptVersion, ValidationData } from "@promptd/contract";
import { createHash, randomUUID } from "node:crypto";
import { basename, resolve } from "node:path";
import { CommandFailure, stopCode, type CommandArgs, type CommandIo } from "../command.ts";
import { requireFile } from "../files/check-writable.ts";
import { printableLine } from "../printable.ts";
import { refuseUnknownNames } from "../runs/check-inputs.ts";
import { findVersion } from "../runs/find-version.ts";
import { readText } from "../runs/read-text.ts";
import { readInputs, readPairs } from "../runs/run-inputs.ts";
import { withSession } from "../session.ts";
import { readItems } from "./batch-items.ts";
import { readRows, type Row } from "./read-rows.ts";
import { readResultsFile, watchBatch } from "./watch-batch.ts";

/** The server checks and stores ten thousand items before it answers. */
const CREATE_MS_MAX = 90_000;
/** Long enough for a server to restart. */
const RETRY_FOR_MS = 120_000;

/** @returns the exit code. */
export async function runBatch(file: string, args: CommandArgs, io: CommandIo): Promise<number | void> {
  if (args.list("image").length > 0) {
    throw new CommandFailure("--batch and --image cannot be combined: images come from columns of the file.");
  }
  const out = readResultsFile(args);
  if (out !== undefined) await requireFile(resolve(io.directory, out));
  const rows = readRows(file, await readText(file, "name a file in it", io));
  const runOptions = readPairs("--option", args.list("option"));
  const [prompt = ""] = args.positionals;
  return withSession(io, async ({ client }) => {
    const version = await findVersion(client, prompt, io.signal);
    refuseUnknownNames(version.config, { inputs: [], options: Object.keys(runOptions) });
    const { texts } = await readInputs(args, version.config, io);
    const items = await readItems({ file, directory: io.directory, rows, texts }, version.config);
    const { promptVersionId } = version;
    const body: CreateBatchBody = { promptVersionId, items, runOptions, name: nameOf(file) };
    const key = args.flag("again") ? randomUUID() : keyOf(prompt, body);
    if (!(await mayRun(client, version, { items: items.length, args, io }))) return 1;
    const batch = await createBatch(client, body, { key, file, rows, io });
    if (args.flag("no-wait")) return io.result(batch, batch.batchId);
    return watchBatch(client, { batchId: batch.batchId, out }, io);
  });
}

function nameOf(file: string): string {
  return Array.from(basename(file)).slice(0, 120).join("");
}

/** Hashes the request, not the version it resolves to: a new version must not silently run everything again. */
function keyOf(prompt: string, { items, runOptions }: CreateBatchBody): string {
  const request = JSON.stringify([prompt, items, runOptions]);
  return `promptd-run-batch-${createHash("sha256").update(request).digest("hex")}`;
}

interface Confirmation {
  readonly items: number;
  readonly args: CommandArgs;
  readonly io: CommandIo;
}

/** Shows the cost, and asks for confirmation if somebody can answer. */
async function mayRun(
  client: Client,
  { title, config }: PromptVersion,
  { items, args, io }: Confirmation,
): Promise<boolean> {
  const { credits } = await client.me.credits({ signal: io.signal });
  const [typical, most] = [config.estimatedCredits * items, config.creditsRequired * items];
  const number = (count: number) => count.toLocaleString("en-US");
  const price =
    most === 0
      ? "free"
      : `about ${number(typical)} ${typical === 1 ? "credit" : "credits"}, at most ${number(most)} for usual inputs`;
  const runs = `${number(items)} ${items === 1 ? "run" : "runs"} of ${printableLine(title)}`;
  io.note(`${runs}: ${price}. You have ${number(credits)}.`);
  if (args.flag("yes") || !io.terminal.isError) return true;
  // Only the create request finds out whether a batch of these rows exists already and continues.
  const answer = await io.ask(`${args.flag("again") ? "Run them" : "Run what has not been run yet"}? [y/N] `);
  if (answer === null || /^y(es)?$/i.test(answer.trim())) return true;
  io.note("Nothing was sent, and nothing was charged.");
  return false;
}

interface Creating {
  readonly key: string;
  readonly file: string;
  readonly rows: readonly Row[];
  readonly io: CommandIo;
}

async function createBatch(client: Client, body: CreateBatchBody, { key, file, rows, io }: Creating): Promise<Batch> {
  const headers = { "idempotency-key": key };
  const call = {
    body,
    headers,
    signal: io.signal,
    timeoutMs: CREATE_MS_MAX,
    retryForMs: RETRY_FOR_MS,
  };
  const answer = await client.call("createBatch", call).catch((error: unknown) => {
    throw io.signal.aborted ? stoppedSending(error) : explain(error, { file, rows });
  });
  const batch = answer.data;
  if (answer.headers.get("idempotent-replayed") !== "true") return batch;
  const [day] = batch.createdAt.split("T");
  if (batch.batchStatus === "canceled") {
    throw new CommandFailure(`These rows were run on ${day}, and that batch was canceled.`, {
      hint: `To see it: promptd batches get ${batch.batchId}\nTo run all rows again, add --again to the command.`,
    });
  }
  io.note(`Resuming the batch of ${day}. Nothing is run twice. To run everything again, add --again.`);
  return batch;
}

/** The request may or may not have arrived. */
function stoppedSending(cause: unknown): CommandFailure {
  const hint = "If the batch was created, it continues, and the same command joins it. See: promptd batches list";
  return new CommandFailure("Stopped while sending the batch.", { hint, cause, exitCode: stopCode(cause) });
}

/** Adds the line of the file to each fault. */
function explain(error: unknown, { file, rows }: Pick<Creating, "file" | "rows">): unknown {
  if (!(error instanceof PromptdError)) return error;
  if (error.issues.some(({ path, code }) => path[0] === "header" && code === "conflict")) {
    return new CommandFailure("These rows were run with an earlier version of the prompt.", {
      hint: "To see that batch: promptd batches list\nTo run all rows with the current version, add --again to the command.",
      cause: error,
    });
  }
  const faults = error.issues.map(({ path, message }) => {
    const row = path[1] === "items" ? rows[Number(path[2])] : undefined;
    return { line: row?.line, message: row === undefined ? message : `${file}:${row.line}: ${message}` };
  });
  if (faults.every(({ line }) => line === undefined)) return error;
  // A response lists at most twenty faults, but counts all items that have one.
  const { invalidItems = faults.length } = error.data as ValidationData;
  const [invalid, all] = [invalidItems, rows.length].map((count) => count.toLocaleString("en-US"));
  const counted = `${invalid} of ${all} rows cannot be run.`;
  return new CommandFailure([counted, ...faults.map(({ message }) => message)].join("\n"), {
    hint: "Nothing was run, and nothing was charged.",
    cause: error,
  });
}
