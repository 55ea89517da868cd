import type { Terminal } from "./terminal/terminal.ts";

/** A command flag. Every command also accepts --json and --help, which are not listed here. */
export interface CommandOption {
  readonly type: "string" | "boolean";
  /** One letter for the short form, without the dash. */
  readonly short?: string;
  /** Can be repeated (`string` only). */
  readonly multiple?: boolean;
  /** What the help shows as the value, such as `N` or `KEY=VALUE`; `VALUE` when absent. */
  readonly value?: string;
  /** The command is refused when it is missing or blank (`string` only). */
  readonly isRequired?: boolean;
  readonly summary: string;
}

/** The words after a command's name, already checked against its options and positionals. */
export interface CommandArgs {
  readonly positionals: readonly string[];
  /** The value of a `string` option; undefined when it was not given. */
  text(name: string): string | undefined;
  /** The value of an option that `isRequired`, without spaces around it. */
  required(name: string): string;
  /** All values of a `multiple` option, in order; empty when it was not given. */
  list(name: string): readonly string[];
  /** Whether a `boolean` option was given. `--no-x` is an option of its own, named `no-x`. */
  flag(name: string): boolean;
}

/** Everything a command may use of the process it runs in. Tests pass their own. */
export interface CommandIo {
  /** True when --json was given: exactly one JSON document goes to stdout. */
  readonly json: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The command's name, such as `admin key create`, and its subject: the first positional, else --user or --email. */
  readonly command: { readonly name: string; readonly subject: string | null };
  /** Every command. */
  readonly commands: CommandTable;
  /** The directory that relative paths are resolved against. */
  readonly directory: string;
  /** Aborted by Ctrl-C or SIGTERM, except for a command that handles signals itself. */
  readonly signal: AbortSignal;
  readonly fetch: typeof globalThis.fetch;
  readonly terminal: Terminal;
  /** Reads all of standard input as text, for values that must not appear on the command line. */
  readStdin(): Promise<string>;
  /** Asks for a secret without showing what is typed. Null when nobody can answer. */
  askSecret(question: string): Promise<string | null>;
  /** Asks a question and shows the answer as it is typed. Null when nobody can answer. */
  ask(question: string): Promise<string | null>;
  /** Opens a URL in the user's browser. False when there is no browser. */
  openBrowser(url: string): Promise<boolean>;
  /**
   * Prints the command's result, once: the document with --json, else the text.
   * Nothing else may be written to stdout, except what `write` shows on a terminal.
   */
  result(document: unknown, text: string): void;
  /** Shows text as it arrives, before the result, and only on a terminal. */
  write(text: string): void;
  /** Prints progress and warnings on stderr. Escapes control characters, so untrusted text is safe. */
  note(text: string): void;
  /** Writes to stderr as is, without a line break, for text that is drawn over. */
  writeError(text: string): void;
}

export interface Command {
  /** One line for the command list. It begins with a verb and has no period. */
  readonly summary: string;
  /**
   * The positionals, as the help shows them and the command line is checked: `<runId>` or `FILE` is required, `[TEXT]` is
   * not, `FILE…` may be repeated; empty if there are none.
   */
  readonly usage: string;
  /** More paragraphs for the help. */
  readonly details?: string;
  /** An example terminal session: lines that begin with `$ promptd`, and their output. */
  readonly session: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** True for a command that runs until it is stopped and drains by itself. Its `io.signal` never fires. */
  readonly handlesSignals?: boolean;
  /** @returns the exit code; undefined means 0. Throws a CommandFailure whose message is shown to the user. */
  run(args: CommandArgs, io: CommandIo): Promise<number | void>;
}

/** Maps a command path ("admin key create") to its module, which is loaded only when the command is used. */
export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

/** What a shell reports for a process that Ctrl-C ended: 128 plus the number of SIGINT. */
export const EXIT_INTERRUPTED = 130;

/** The exit code of a command that stopped waiting. @param cause the reason of its `io.signal`. */
export function stopCode(cause: unknown): number {
  return cause instanceof CommandFailure ? cause.exitCode : EXIT_INTERRUPTED;
}

/** A failure shown as its message only, without a stack trace. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  /** Second line: what to do next. */
  readonly hint: string | null;
  /** The exit code of the process; 1 by default. */
  readonly exitCode: number;
  constructor(message: string, options: { hint?: string; cause?: unknown; exitCode?: number } = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint ?? null;
    this.exitCode = options.exitCode ?? 1;
  }
}
