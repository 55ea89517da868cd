import { editDistance, suggestName } from "@promptd/contract";
import { CommandFailure, type Command, type CommandArgs, type CommandIo, type CommandTable } from "./command.ts";
import { explainError } from "./explain-error.ts";
import { describeCommand, describeGroup, describeSections, readVersion } from "./help-text.ts";
import { parseArguments } from "./parse-arguments.ts";
import { printable } from "./printable.ts";
import { NO_TERMINAL, shade, type Terminal } from "./terminal/terminal.ts";

/** The process as the command line sees it. main.ts passes the real one, and tests pass their own. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  readonly fetch: typeof globalThis.fetch;
  readonly terminal: Terminal;
  readonly readStdin: () => Promise<string>;
  readonly askSecret: (question: string, signal: AbortSignal) => Promise<string | null>;
  readonly ask: (question: string, signal: AbortSignal) => Promise<string | null>;
  readonly openBrowser: (url: string) => Promise<boolean>;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Called once, before the command runs, unless the command handles signals itself. */
  readonly listenForStop: () => AbortSignal;
}

/**
 * Runs one command line and returns the exit code: 0, 1 for a failure (explained on stderr), or 130 after Ctrl-C.
 * @param argv the words after the program's name.
 */
export async function runCli(argv: readonly string[], table: CommandTable, around: Surroundings): Promise<number> {
  try {
    if (argv.length === 1 && argv[0] === "--version") return await printVersion(around);
    const { name, rest } = findCommand(moveCommonFlag(argv), table);
    if (name === null) return await printTableHelp(rest, table, around);
    const load = table[name];
    if (load === undefined) throw new Error(`The command table lost "${name}".`);
    return await runCommand({ name, command: await load(), rest }, table, around);
  } catch (error) {
    const known = error instanceof CommandFailure ? error : explainError(error);
    if (known === null) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      around.writeError(`promptd failed unexpectedly: ${printable(what)}\n`);
      return 1;
    }
    const hint = known.hint === null ? "" : `${shade(around.terminal, "dim", printable(known.hint))}\n`;
    around.writeError(`${shade(around.terminal, "red", printable(known.message))}\n${hint}`);
    return known instanceof CommandFailure ? known.exitCode : 1;
  }
}

async function printVersion(around: Surroundings): Promise<number> {
  around.writeOut(`${await readVersion()}\n`);
  return 0;
}

/** `promptd --json me` means `promptd me --json`. */
function moveCommonFlag(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  const isCommon = first === "--json" || first === "--help" || first === "-h";
  return isCommon && rest.length > 0 ? [...rest, first] : argv;
}

interface Called {
  readonly name: string;
  readonly command: Command;
  readonly rest: readonly string[];
}

async function runCommand({ name, command, rest }: Called, table: CommandTable, around: Surroundings): Promise<number> {
  const parsed = parseArguments(name, command, rest);
  if (parsed.help) {
    around.writeOut(`${describeCommand(name, command)}\n`);
    return 0;
  }
  const signal = command.handlesSignals === true ? new AbortController().signal : around.listenForStop();
  const terminal = parsed.json ? NO_TERMINAL : around.terminal;
  const io: CommandIo = {
    json: parsed.json,
    terminal,
    env: around.env,
    command: { name, subject: subjectOf(command, parsed.args) },
    commands: table,
    directory: around.directory,
    signal,
    fetch: around.fetch,
    readStdin: around.readStdin,
    askSecret: (question) => around.askSecret(question, signal),
    ask: (question) => around.ask(question, signal),
    openBrowser: around.openBrowser,
    write: (text) => {
      if (terminal.isOut) around.writeOut(text);
    },
    writeError: around.writeError,
    result: (document, text) => {
      // Results contain other people's names and titles, and a terminal obeys control characters.
      const shown = terminal.isOut ? printable(text) : text;
      around.writeOut(`${parsed.json ? printable(JSON.stringify(document, null, 2)) : shown}\n`);
    },
    note: (text) => around.writeError(`${printable(text)}\n`),
  };
  return (await command.run(parsed.args, io)) ?? 0;
}

function subjectOf(command: Command, args: CommandArgs): string | null {
  const [named] = ["user", "email"].filter((option) => Object.hasOwn(command.options, option));
  return args.positionals[0] ?? (named === undefined ? null : (args.text(named) ?? null));
}

/** Finds the longest command path that the words begin with; name is null when they name only a group. */
function findCommand(argv: readonly string[], table: CommandTable): { name: string | null; rest: readonly string[] } {
  const flagAt = argv.findIndex((word) => word.startsWith("-"));
  const words = flagAt === -1 ? argv : argv.slice(0, flagAt);
  for (let length = words.length; length > 0; length -= 1) {
    const name = words.slice(0, length).join(" ");
    if (Object.hasOwn(table, name)) return { name, rest: argv.slice(length) };
  }
  return { name: null, rest: argv };
}

async function printTableHelp(argv: readonly string[], table: CommandTable, around: Surroundings): Promise<number> {
  const words = (argv[0] === "help" ? argv.slice(1) : argv).filter((word) => !word.startsWith("-"));
  const commandName = words.join(" ");
  const loadCommand = argv[0] === "help" && Object.hasOwn(table, commandName) ? table[commandName] : undefined;
  if (loadCommand !== undefined) {
    around.writeOut(`${describeCommand(commandName, await loadCommand())}\n`);
    return 0;
  }
  const prefix = words.length === 0 ? "" : `${commandName} `;
  if (!Object.keys(table).some((path) => path.startsWith(prefix))) throw unknownCommand(words, table);
  const isHelpRequested = argv.length === 0 || argv[0] === "help" || argv.includes("--help") || argv.includes("-h");
  const strangeFlag = argv.find(
    (word) => word.startsWith("-") && word !== "--help" && word !== "-h" && word !== "--json",
  );
  if (strangeFlag !== undefined) {
    throw new CommandFailure(`promptd has no flag ${strangeFlag}.`, { hint: 'See "promptd --help".' });
  }
  const text = prefix === "" ? await describeSections(table) : await describeGroup(table, prefix);
  if (isHelpRequested) around.writeOut(`${text}\n`);
  else around.writeError(`${text}\n`);
  return isHelpRequested ? 0 : 1;
}

function unknownCommand(words: readonly string[], table: CommandTable): CommandFailure {
  const typed = words.join(" ");
  // A typo may precede arguments ("serach cat poem"), so compare each path with as many words as it has.
  const close = Object.keys(table)
    .map((path) => ({ path, begun: words.slice(0, path.split(" ").length).join(" ") }))
    .filter(({ path, begun }) => suggestName(begun, [path]) !== null)
    // "runs lst" is as close to "run" as to "runs list", which explains more of it.
    .toSorted((a, b) => distanceOf(a) - distanceOf(b) || b.path.length - a.path.length);
  const meant = close[0]?.path ?? null;
  const [first = ""] = words;
  const group = Object.keys(table).some((path) => path.startsWith(`${first} `)) ? ` ${first}` : "";
  return new CommandFailure(
    `promptd has no command "${typed}".${meant === null ? "" : ` Did you mean "promptd ${meant}"?`}`,
    { hint: `See "promptd${group} --help".` },
  );
}

function distanceOf({ path, begun }: { readonly path: string; readonly begun: string }): number {
  return editDistance(begun, path);
}
