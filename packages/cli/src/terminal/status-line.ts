import type { CommandIo } from "../command.ts";
import { printable, printableLine } from "../printable.ts";

export interface StatusLine {
  /** Shows this text, with how long it has taken, until it is cleared. */
  show(text: string): void;
  clear(): void;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Back to the beginning of the line, and empty it. */
const ERASE = "\r\u001b[2K";
/** Empties a line that is drawn, since the cursor stands at its beginning, and leaves every other as it is. */
const ERASE_REST = "\u001b[K";

/** One line on standard error that is drawn over; nothing where that is no terminal. */
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

/** A note that may come while a line is drawn: it takes the place of the line, which is drawn again below it. */
export function noteAbove(io: Pick<CommandIo, "terminal" | "writeError">, text: string): void {
  io.writeError(`${io.terminal.isError ? ERASE_REST : ""}${printableLine(text)}\n`);
}
