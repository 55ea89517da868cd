/** The command line inside this process, because starting one takes most of a second. */
import { tmpdir } from "node:os";
import type { CommandTable } from "../src/command.ts";
import { AUTHOR_COMMANDS } from "../src/commands/author-commands.ts";
import { END_USER_COMMANDS } from "../src/end-user-commands.ts";
import { OPERATOR_COMMANDS } from "../src/operator-commands.ts";
import { runCli, type Surroundings } from "../src/run-cli.ts";
import { NO_TERMINAL } from "../src/terminal/terminal.ts";

export interface EndedHere {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams, in order. */
  readonly output: string;
}

const ALL_COMMANDS: CommandTable = { ...END_USER_COMMANDS, ...OPERATOR_COMMANDS, ...AUTHOR_COMMANDS };

/** @param around what differs from a process in the temporary folder, without a terminal, whom nobody answers. */
export async function runCommandHere(
  argv: readonly string[],
  around: Partial<Surroundings> = {},
  table: CommandTable = ALL_COMMANDS,
): Promise<EndedHere> {
  const printed: { readonly stream: "out" | "error"; readonly text: string }[] = [];
  const code = await runCli(argv, table, {
    env: {},
    directory: tmpdir(),
    fetch: globalThis.fetch,
    terminal: NO_TERMINAL,
    ask: async () => null,
    askSecret: async () => null,
    openBrowser: async () => false,
    readStdin: async () => "",
    listenForStop: () => new AbortController().signal,
    ...around,
    writeOut: (text) => {
      printed.push({ stream: "out", text });
      around.writeOut?.(text);
    },
    writeError: (text) => {
      printed.push({ stream: "error", text });
      around.writeError?.(text);
    },
  });
  const textOf = (stream: "out" | "error") =>
    printed
      .filter((piece) => piece.stream === stream)
      .map(({ text }) => text)
      .join("");
  return { code, stdout: textOf("out"), stderr: textOf("error"), output: printed.map(({ text }) => text).join("") };
}
