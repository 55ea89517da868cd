import { buffer as readBytes } from "node:stream/consumers";
import { isatty } from "node:tty";
import { CommandFailure, EXIT_INTERRUPTED } from "./command.ts";
import { END_USER_COMMANDS } from "./end-user-commands.ts";
import { AUTHOR_COMMANDS } from "./commands/author-commands.ts";
import { describeWriteFailure } from "./files/file-failure.ts";
import { OPERATOR_COMMANDS } from "./operator-commands.ts";
import { runCli } from "./run-cli.ts";
import { decodeText, STDIN_NAME } from "./runs/read-text.ts";
import { ask, askSecret } from "./terminal/ask-secret.ts";
import { openBrowser } from "./terminal/browser.ts";
import { describeTerminal } from "./terminal/terminal.ts";

// A pipe's reader may exit early ("promptd search tea | head -1"). That is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  process.stderr.write(`${describeWriteFailure("Standard output", error)}\n`);
  process.exit(1);
});
// Notes that nobody can read anymore must not stop the work.
process.stderr.on("error", () => {});

void runCli(
  process.argv.slice(2),
  { ...END_USER_COMMANDS, ...AUTHOR_COMMANDS, ...OPERATOR_COMMANDS },
  {
    env: process.env,
    directory: process.cwd(),
    fetch: globalThis.fetch,
    terminal: describeTerminal(process.env, {
      isOut: isatty(1),
      isError: isatty(2),
    }),
    ask,
    askSecret,
    openBrowser,
    readStdin: async () => decodeText(await readBytes(process.stdin), STDIN_NAME),
    writeOut: (text) => process.stdout.write(text),
    writeError: (text) => process.stderr.write(text),
    listenForStop,
  },
).then((exitCode) => (process.exitCode = exitCode));
// Nothing is left to wait for, but the command has not ended: report a failure.
process.once("beforeExit", () => (process.exitCode ??= 1));

/** A second Ctrl-C ends the process at once, because the handler runs only once. */
function listenForStop(): AbortSignal {
  const stop = new AbortController();
  const exitCodes = { SIGINT: EXIT_INTERRUPTED, SIGTERM: 143 } as const; // 128 plus the signal number
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    const exitCode = exitCodes[name];
    process.once(name, () => stop.abort(new CommandFailure(`Stopped by ${name}.`, { exitCode })));
  }
  return stop.signal;
}
