import { expect, test } from "vitest";
import { NO_TERMINAL } from "./terminal.ts";
import { createStatusLine, noteAbove } from "./status-line.ts";

// oxlint-disable-next-line eslint/no-control-regex -- what is written to a terminal holds such characters
const PIECES = /\u001b\[2?K|\r|\n|[^]/gu;

/** What a terminal shows after these writes. Handles carriage returns and the sequences that erase a line. */
function shownOf(written: string): string[] {
  const lines = [""];
  let at = 0;
  for (const [piece] of written.matchAll(PIECES)) {
    const line = lines.at(-1) ?? "";
    if (piece === "\n") lines.push("");
    else if (piece === "\u001b[2K") lines[lines.length - 1] = "";
    else if (piece === "\u001b[K") lines[lines.length - 1] = line.slice(0, at);
    else if (piece !== "\r") lines[lines.length - 1] = line.slice(0, at) + piece + line.slice(at + 1);
    at = piece === "\n" || piece === "\r" ? 0 : piece.startsWith("\u001b") ? at : at + 1;
  }
  return lines;
}

function openTerminal() {
  const terminal = { ...NO_TERMINAL, isError: true };
  let written = "";
  const writeError = (text: string): void => void (written += text);
  const io = { terminal, writeError };
  return { io, shown: () => shownOf(written) };
}

test("a note replaces the status line, which is drawn again below it", () => {
  const { io, shown } = openTerminal();
  const line = createStatusLine(io);
  line.show("running, with a text that is longer than the note");
  noteAbove(io, "Still trying.");
  expect(shown()).toEqual(["Still trying.", ""]);
  line.show("running");
  expect(shown()).toEqual(["Still trying.", "⠙ running (0 s)"]);
  line.clear();
});

test("a note leaves text that is being written as it is", () => {
  const { io, shown } = openTerminal();
  io.writeError("A kettle ");
  noteAbove(io, "Still trying.");
  expect(shown()).toEqual(["A kettle Still trying.", ""]);
});
