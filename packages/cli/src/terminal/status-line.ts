import type { CommandIo } from "../command.ts";
import { printable, printableLine } from "../printable.ts";

export interface StatusLine {
  /** Shows this text and the elapsed time until it is cleared. */
  show(text: string): void;
  clear(): void;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Returns to the beginning of the line and erases it. */
const ERASE = "\r\u001b[2K";
/** Erases a status line, because the cursor is at its beginning. Leaves any other line as it is. */
const ERASE_REST = "\u001b[K";

/** A line on standard error that is drawn over. Draws nothing when standard error is not a terminal. */
export function createStatusLine({ terminal, writeError }: Pick<CommandIo, "terminal" | "writeError">): StatusLine {
  if (!terminal.isError) return { show: () => {}, clear: () => {} };
  const startedMs = performance.now();
  let text = "";
  let frame = 0;
  let timer: NodeJS.Timeout | null = null;
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - startedMs) / 1_000);
    writeError(`${ERASE}${FRAMES[frame++ % FRAMES.length] ?? ""} ${text} (${seconds} s)\r`);
  };
  return {
    show: (wanted) => {
      text = printable(wanted);
      draw();
      timer ??= setInterval(draw, FRAME_MS).unref();
    },
    clear: () => {
      if (timer === null) return;
      clearInterval(timer);
      timer = null;
      writeError(ERASE);
    },
  };
}

/** Prints a note while a status line may be shown. The note replaces the line, which is drawn again below it. */
export function noteAbove(io: Pick<CommandIo, "terminal" | "writeError">, text: string): void {
  io.writeError(`${io.terminal.isError ? ERASE_REST : ""}${printableLine(text)}\n`);
}
