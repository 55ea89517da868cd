import type { Run } from "@promptd/contract";
import type { CommandIo } from "../command.ts";
import { formatCredits, formatRun } from "../output.ts";
import { printable } from "../printable.ts";
import { formatPicture } from "../terminal/pictures.ts";
import { shade } from "../terminal/terminal.ts";
import { downloadOutput, saveOutputs } from "./save-outputs.ts";

export interface ReportOptions {
  /** Where to save files; undefined: nowhere. */
  readonly folder: string | undefined;
  /** What is left to show, if some of the run was shown while it was written. */
  readonly unseen?: Run;
}

/**
 * Outputs a run as the command's result, after saving its files if a folder is given.
 * @returns the exit code: 1 when the run failed.
 */
export async function reportRun(run: Run, { folder, unseen = run }: ReportOptions, io: CommandIo): Promise<number> {
  const files = folder === undefined ? null : await saveOutputs(run, folder, io);
  for (const file of files ?? []) io.note(`Saved ${file.path}`);
  await showPictures(run, io);
  const text = formatRun({ ...unseen, outputs: unseen.outputs.filter(({ data }) => data !== "" || unseen === run) });
  const isShown = unseen !== run && unseen.outputs.every(({ data }) => data === "");
  if (io.json || !isShown) io.result(files === null ? run : { ...run, files }, text);
  if (io.terminal.isError && hasEnded(run)) noteEnd(run, io);
  return run.runStatus === "failed" ? 1 : 0;
}

export function hasEnded({ runStatus }: Run): boolean {
  return runStatus === "succeeded" || runStatus === "failed";
}

function noteEnd({ runId, runStatus, tokens }: Run, io: CommandIo): void {
  const text = printable(`${runId}  ${runStatus}  ${formatCredits(tokens)}`);
  io.writeError(`${shade(io.terminal, "dim", text)}\n`);
}

/** Shows pictures in terminals that can. A picture that cannot be loaded remains as its URL. */
async function showPictures(run: Run, io: CommandIo): Promise<void> {
  const { pictures } = io.terminal;
  if (pictures === null) return;
  for (const item of run.outputs.filter(({ type }) => type === "image")) {
    const file = await downloadOutput(item.data, io).catch(() => null);
    const shown = file === null ? null : formatPicture(file.bytes, pictures);
    if (shown !== null) io.write(`${shown}\n`);
  }
}
