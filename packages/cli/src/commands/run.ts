import { PromptdError, PromptdRunError, toImageInput, type Client } from "@promptd/client";
import type { Run } from "@promptd/contract";
import { resolve } from "node:path";
import { runBatch } from "../batches/run-batch.ts";
import { CommandFailure, stopCode, type Command, type CommandIo } from "../command.ts";
import { requireFolder } from "../files/check-writable.ts";
import { sandboxMark } from "../output.ts";
import { printable, printableLine } from "../printable.ts";
import { refuseUnknownNames } from "../runs/check-inputs.ts";
import { findVersion } from "../runs/find-version.ts";
import { reportRun } from "../runs/report-run.ts";
import { readInputs, readPairs, type GivenInputs } from "../runs/run-inputs.ts";
import { createRunView, type RunView } from "../runs/run-view.ts";
import { withSession } from "../session.ts";

export const run: Command = {
  summary: "Run a prompt and wait for its outputs",
  usage: "<slug[@label]|promptId|promptVersionId> [KEY=VALUE…]",
  details: `A slug or a prompt id runs the latest published version. slug@label runs the version that the label points to. KEY=@FILE reads the input from a file, and KEY=- from standard input. A single "-" reads the only input that the prompt needs from standard input. Inputs and options that the prompt does not have are rejected before anything is charged. The exit code is 1 when the run fails.
Ctrl-C stops waiting with exit code 130, but not the run. "promptd runs watch <runId>" waits again.
--batch runs the prompt once for each row of a .csv or .jsonl file. Columns are inputs, image slots (URLs, or paths relative to the file), and "key", your own name for a row. If you run the command again, it continues the same batch and runs nothing twice. Results go to the --out file, or to a pipe as JSON lines.`,
  session: `$ promptd run cat-poem topic=tea tone=calm
A kettle hums, the window steams …
$ cat letter.txt | promptd run summarize - --json
$ promptd run cat-portrait photo=@cat.jpg -o quality=high --out pictures
Saved pictures/01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a-1.png
$ promptd run cat-poem tone=calm --batch topics.csv --out poems.csv
Saved poems.csv`,
  options: {
    input: {
      type: "string",
      short: "i",
      multiple: true,
      value: "KEY=VALUE",
      summary: "a text input, used literally",
    },
    inputs: {
      type: "string",
      value: "FILE.json|-",
      summary: "text inputs as one JSON object; words and flags override it",
    },
    image: {
      type: "string",
      multiple: true,
      value: "PATH|URL",
      summary: "an image; images fill the prompt's slots in order",
    },
    option: { type: "string", short: "o", multiple: true, value: "KEY=VALUE", summary: "a run option of the model" },
    "no-wait": { type: "boolean", summary: "print only the runId (or batchId), and do not wait" },
    out: {
      type: "string",
      value: "DIR|FILE",
      summary:
        "save generated images and videos in this folder; with --batch, save the results in this .jsonl or .csv file",
    },
    batch: { type: "string", value: "FILE.csv|FILE.jsonl", summary: "run the prompt for each row of this file" },
    yes: { type: "boolean", summary: "with --batch: do not ask for confirmation" },
    again: { type: "boolean", summary: "with --batch: run all rows again, including those already run" },
  },
  async run(args, io) {
    if (args.flag("no-wait") && args.text("out") !== undefined) {
      throw new CommandFailure("--no-wait and --out cannot be combined: there is nothing to save yet.");
    }
    const file = args.text("batch");
    if (file !== undefined) return runBatch(file, args, io);
    if (args.flag("yes") || args.flag("again")) throw new CommandFailure("--yes and --again require --batch.");
    const options = readPairs("--option", args.list("option"));
    const folder = args.text("out");
    if (folder !== undefined) await requireFolder(resolve(io.directory, folder));
    const view = createRunView(io);
    const finished = await withSession(io, async ({ client }) => {
      const { promptVersionId, config } = await findVersion(client, args.positionals[0] ?? "", io.signal);
      // An output that must match a schema cannot say this itself.
      if (config.output.schema !== undefined && sandboxMark(config.model) !== null)
        io.note(`${config.model} is the sandbox, not an AI model.`);
      const inputs = await readInputs(args, config, io);
      refuseUnknownNames(config, { inputs: Object.keys(inputs.texts), options: Object.keys(options) });
      const wanted: Wanted = { promptVersionId, inputs, options };
      try {
        return await (args.flag("no-wait")
          ? createOnly(client, wanted, io)
          : createAndWait(client, wanted, { io, view }));
      } catch (error) {
        throw explainRefusal(error, args.positionals[0] ?? "");
      }
    });
    if (args.flag("no-wait")) return io.result(finished, finished.runId);
    return reportRun(finished, { folder, unseen: view.finish(finished) }, io);
  },
};

/** Points to the prompt's inputs when the given inputs are not valid. */
function explainRefusal(error: unknown, name: string): unknown {
  if (!(error instanceof PromptdError) || error.code !== "VALIDATION_ERROR") return error;
  const hint = `Nothing was charged. To see its inputs: promptd show ${printableLine(name)}`;
  return new CommandFailure(printable(error.message), { hint, cause: error });
}

interface Wanted {
  readonly promptVersionId: string;
  readonly inputs: GivenInputs;
  readonly options: Readonly<Record<string, string>>;
}

async function createOnly(client: Client, { promptVersionId, inputs, options }: Wanted, io: CommandIo): Promise<Run> {
  const imageInputs = await Promise.all(inputs.images.map(toImageInput));
  const body = { promptVersionId, inputs: { textInputs: inputs.texts, imageInputs }, runOptions: options };
  return client.runs.create(body, { respondAsync: true, signal: io.signal });
}

interface Waiting {
  readonly io: CommandIo;
  readonly view: RunView;
}

async function createAndWait(
  client: Client,
  { promptVersionId, inputs, options }: Wanted,
  { io, view }: Waiting,
): Promise<Run> {
  const { texts, images } = inputs;
  try {
    const { runId, outputs, runStatus, tokens } = await client.run(promptVersionId, {
      inputs: texts,
      images,
      options,
      onProgress: (event) => view.see(event),
      signal: io.signal,
    });
    return { runId, outputs, runStatus, tokens };
  } catch (error) {
    if (error instanceof PromptdRunError) return error.run;
    if (!io.signal.aborted) throw error;
    throw stoppedWaiting(view.runId(), error);
  } finally {
    view.stop();
  }
}

/** The run continues and will be charged, so say how to return to it. */
export function stoppedWaiting(runId: string | null, cause: unknown): CommandFailure {
  const hint =
    runId === null ? "If it was created, it continues: promptd runs list" : `It continues: promptd runs watch ${runId}`;
  return new CommandFailure("Stopped waiting for the run.", { hint, cause, exitCode: stopCode(cause) });
}
