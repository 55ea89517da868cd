import type { Run } from "@promptd/contract";
import type { CommandIo } from "../command.ts";
import { formatRun } from "../output.ts";
import { saveOutputs } from "./save-outputs.ts";

/**
 * Gives a run as the result of the command, after saving its files when a folder is named.
 * @returns the exit code: 1 when the run failed.
 */
export async function reportRun(run: Run, folder: string | undefined, io: CommandIo): Promise<number> {
  const files = folder === undefined ? null : await saveOutputs(run, folder, io);
  for (const file of files ?? []) io.note(`Saved ${file.path}`);
  io.result(files === null ? run : { ...run, files }, formatRun(run));
  return run.runStatus === "failed" ? 1 : 0;
}
