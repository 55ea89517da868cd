import type { Run, RunEvent } from "@promptd/contract";
import type { CommandIo } from "../command.ts";
import { printable } from "../printable.ts";
import { createStatusLine } from "../terminal/status-line.ts";
import { shade } from "../terminal/terminal.ts";

/** Shows a run's progress to a person. */
export interface RunView {
  /** Null until it is known. */
  runId(): string | null;
  see(event: RunEvent): void;
  /** Returns the run with the outputs that are left to show: texts that were already shown are empty. */
  finish(run: Run): Run;
  /** Stops drawing. */
  stop(): void;
}

/** Shows a status line on standard error and streams text to standard output, each only on a terminal. */
export function createRunView(io: CommandIo): RunView {
  const line = createStatusLine(io);
  const written = new Map<number, { readonly call: number; text: string }>();
  let runId: string | null = null;
  const write = (index: number, call: number, text: string): void => {
    const earlier = written.get(index);
    if (earlier !== undefined && earlier.call === call) earlier.text += text;
    else {
      if (written.size > 0) io.write("\n\n");
      if (earlier !== undefined) io.write(`${shade(io.terminal, "dim", "(written again)")}\n`);
      written.set(index, { call, text });
    }
    io.write(printable(text));
  };
  return {
    runId: () => runId,
    see: ({ event, data }) => {
      if (event === "status") {
        const isNew = runId === null;
        runId = data.runId;
        if (data.runStatus === "succeeded" || data.runStatus === "failed") line.clear();
        else if (written.size === 0) line.show(`${data.runStatus}  ${data.runId}  Ctrl-C stops waiting, not the run`);
        if (isNew && !io.terminal.isError && data.runStatus !== "succeeded" && data.runStatus !== "failed") {
          io.note(`Waiting for the run ${data.runId}`);
        }
      } else if (event === "text" && io.terminal.isOut) {
        line.clear();
        write(data.index, data.call, data.text);
      } else if (event === "output" && written.size === 0) {
        line.show(`output ${data.index + 1} is ready  ${runId ?? ""}`);
      }
    },
    finish: (run) => {
      line.clear();
      if (written.size === 0) return run;
      const outputs = run.outputs.map((item, index) => {
        const shown = written.get(index)?.text;
        if (item.type !== "text" || shown === undefined || !item.data.startsWith(shown)) return item;
        io.write(printable(item.data.slice(shown.length)));
        return { ...item, data: "" };
      });
      io.write("\n");
      return { ...run, outputs };
    },
    stop: () => line.clear(),
  };
}
