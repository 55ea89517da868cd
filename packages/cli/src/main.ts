import { END_USER_COMMANDS } from "./end-user-commands.ts";
import { OPERATOR_COMMANDS } from "./operator-commands.ts";
import { runCli } from "./run-cli.ts";

process.exitCode = await runCli(
  process.argv.slice(2),
  { ...OPERATOR_COMMANDS, ...END_USER_COMMANDS },
  {
    env: process.env,
    directory: process.cwd(),
    fetch: globalThis.fetch,
    writeOut: (text) => process.stdout.write(text),
    writeError: (text) => process.stderr.write(text),
    listenForStop,
    explain: () => null,
  },
);

/** The second Ctrl-C ends the process at once: the handler is gone after the first. */
function listenForStop(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.once(name, () => stop.abort(new Error(`Stopped by ${name}.`)));
  }
  return stop.signal;
}
