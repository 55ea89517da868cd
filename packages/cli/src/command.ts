import type { Terminal } from "./terminal/terminal.ts";

/** One flag of a command. Every command also takes --json and --help, which are not listed here. */
export interface CommandOption {
  readonly type: "string" | "boolean";
  /** One letter for the short form, without the dash. */
  readonly short?: string;
  /** May be given several times (`string` only). */
  readonly multiple?: boolean;
  /** What the help shows as the value, such as `N` or `KEY=VALUE`; `VALUE` when absent. */
  readonly value?: string;
  /** The command says so when it is absent. */
  readonly isRequired?: boolean;
  readonly summary: string;
}

/** What was typed after the name of a command, already checked against its options and positionals. */
export interface CommandArgs {
  readonly positionals: readonly string[];
  /** The value of a `string` option; undefined when it was not given. */
  text(name: string): string | undefined;
  /** All values of a `multiple` option, in order; empty when it was not given. */
  list(name: string): readonly string[];
  /** Whether a `boolean` option was given; `--no-x` of a declared option `x` is its own option `no-x`. */
  flag(name: string): boolean;
}

/** Everything a command may touch of the process it runs in; a test passes its own. */
export interface CommandIo {
  /** True when --json was given: exactly one JSON document goes to stdout. */
  readonly json: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The command as it is named, such as `admin key create`, and whom or what it is about: its first word, else --user or --email. */
  readonly command: { readonly name: string; readonly subject: string | null };
  /** All that there are. */
  readonly commands: CommandTable;
  /** Where relative paths begin. */
  readonly directory: string;
  /** Aborted by Ctrl-C or SIGTERM, except for a command that handles signals itself. */
  readonly signal: AbortSignal;
  readonly fetch: typeof globalThis.fetch;
  readonly terminal: Terminal;
  /** All of standard input as text; for a value that must not stand on the command line. */
  readStdin(): Promise<string>;
  /** Asks for something that must not be seen. Null where nobody can answer. */
  askSecret(question: string): Promise<string | null>;
  /** Asks a question whose answer may be seen. Null where nobody can answer. */
  ask(question: string): Promise<string | null>;
  /** Opens an address in the user's browser. False where there is none. */
  openBrowser(url: string): Promise<boolean>;
  /**
   * The result of the command, given once: with --json the document on stdout, else the text.
   * Nothing else may be written to stdout, but what `write` shows on a terminal.
   */
  result(document: unknown, text: string): void;
  /** Shows text as it comes, before the result; only on a terminal. */
  write(text: string): void;
  /** Progress and warnings for a person: stderr. What strangers wrote may stand in it as it is. */
  note(text: string): void;
  /** The same without the end of the line, for what is drawn over. */
  writeError(text: string): void;
}

export interface Command {
  /** One line for the list of commands: begins with a verb, no full stop. */
  readonly summary: string;
  /** The positionals as the help shows them, such as `<runId>` or `FILE…`; empty when there are none. */
  readonly usage: string;
  /** Further paragraphs of the help. */
  readonly details?: string;
  /** A worked example as a terminal shows it: lines that begin with `$ promptd`, and what follows from them. */
  readonly session: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** How many positionals are taken; none when absent. */
  readonly positionals?: { readonly min: number; readonly max: number };
  /** True for a command that lives until it is stopped and drains by itself: `io.signal` then never fires. */
  readonly handlesSignals?: boolean;
  /** @returns the exit code; nothing means 0. Throws CommandFailure for what the user should read. */
  run(args: CommandArgs, io: CommandIo): Promise<number | void>;
}

/** Path of a command ("admin key create") to the module that holds it, loaded only when it is used. */
export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

/** As a shell reports a process that Ctrl-C ended: 128 and the number of SIGINT. */
export const EXIT_INTERRUPTED = 130;

/** A failure that is shown as its message alone, without a stack. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  /** Second line: what to do next. */
  readonly hint: string | null;
  /** Of the process; 1 when nothing else is given. */
  readonly exitCode: number;
  constructor(message: string, options: { hint?: string; cause?: unknown; exitCode?: number } = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint ?? null;
    this.exitCode = options.exitCode ?? 1;
  }
}
