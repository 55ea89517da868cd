import type { Client } from "@promptd/client";
import type { CreateRunBody, Run } from "@promptd/contract";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../command.ts";
import { findPrompt, isNotFound, neitherFailure } from "../runs/find-version.ts";
import { reportRun } from "../runs/report-run.ts";
import { readImage, readPairs } from "../runs/run-inputs.ts";
import { withSession } from "../session.ts";

export const run: Command = {
  summary: "Run a prompt and wait for its outputs",
  usage: "<promptVersionId|promptId>",
  details: `A prompt id runs the latest published version. The exit code is 1 when the run fails.
Ctrl-C stops waiting, not the run: "promptd runs get <runId>" shows it later.`,
  options: {
    input: { type: "string", short: "i", multiple: true, value: "KEY=VALUE", summary: "a text input" },
    image: { type: "string", multiple: true, value: "PATH|URL", summary: "an image, in the order of the slots" },
    option: { type: "string", short: "o", multiple: true, value: "KEY=VALUE", summary: "a run option of the model" },
    "no-wait": { type: "boolean", summary: "print the runId at once instead of waiting for the run" },
    out: { type: "string", value: "DIR", summary: "save generated images and videos in this folder" },
  },
  positionals: { min: 1, max: 1 },
  async run(args, io) {
    if (args.flag("no-wait") && args.text("out") !== undefined) {
      throw new CommandFailure("--no-wait and --out do not go together: there is nothing to save yet.");
    }
    const body = await readBody(args, io);
    const finished = await withSession(io, ({ client }) => createRun(client, body, args.flag("no-wait"), io));
    return reportRun(finished, args.text("out"), io);
  },
};

async function readBody(args: CommandArgs, io: CommandIo): Promise<CreateRunBody> {
  const images = await Promise.all(args.list("image").map((source) => readImage(source, io.directory)));
  return {
    promptVersionId: args.positionals[0] ?? "",
    inputs: {
      textInputs: readPairs("--input", args.list("input")),
      ...(images.length === 0 ? {} : { imageInputs: images }),
    },
    runOptions: readPairs("--option", args.list("option")),
  };
}

/** The id is tried as that of a version first, which is what scripts pass, and then as that of a prompt. */
async function createRun(client: Client, body: CreateRunBody, isAsync: boolean, io: CommandIo): Promise<Run> {
  const create = isAsync ? createOnly : createAndWait;
  try {
    return await create(client, body, io);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const latest = await findPrompt(client, body.promptVersionId, io.signal);
    if (latest === null) throw neitherFailure(body.promptVersionId, error);
    return create(client, { ...body, promptVersionId: latest.promptVersionId }, io);
  }
}

function createOnly(client: Client, body: CreateRunBody, io: CommandIo): Promise<Run> {
  return client.runs.create(body, { respondAsync: true, signal: io.signal });
}

async function createAndWait(client: Client, body: CreateRunBody, io: CommandIo): Promise<Run> {
  let runId: string | null = null;
  const onUnfinished = (id: string): void => {
    runId = id;
    io.note(`Still in progress: ${id}`);
  };
  try {
    return await client.runs.createAndWait(body, { signal: io.signal, onUnfinished });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const hint =
      runId === null
        ? "If it was created it goes on: promptd runs list"
        : `It goes on: promptd runs get ${String(runId)}`;
    throw new CommandFailure("Stopped waiting for the run.", { hint, cause: error });
  }
}
