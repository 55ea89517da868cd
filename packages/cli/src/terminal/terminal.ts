import { styleText } from "node:util";

/** The properties of the process's outputs that decide how things are shown. */
export interface Terminal {
  /** Standard output is a terminal: text may appear while it is being written. */
  readonly isOut: boolean;
  /** Standard error is a terminal: a line may be drawn over. */
  readonly isError: boolean;
  readonly hasColors: boolean;
  /** How the terminal can show pictures; null: not at all. */
  readonly pictures: PictureProtocol | null;
}

export type PictureProtocol = "kitty" | "iterm";

/** A pipe, a file, or --json: nothing is drawn. */
export const NO_TERMINAL: Terminal = { isOut: false, isError: false, hasColors: false, pictures: null };

interface Streams {
  readonly isOut: boolean;
  readonly isError: boolean;
}

/** https://no-color.org and https://force-color.org; a dumb terminal can neither color nor draw over a line. */
export function describeTerminal(env: Readonly<Record<string, string | undefined>>, streams: Streams): Terminal {
  const { NO_COLOR: none = "", FORCE_COLOR: forced = "", TERM: term = "" } = env;
  const isDumb = term === "dumb";
  const isForced = forced !== "" && forced !== "0";
  return {
    isOut: streams.isOut && !isDumb,
    isError: streams.isError && !isDumb,
    hasColors: none === "" && (isForced || (streams.isOut && streams.isError && !isDumb)),
    pictures: streams.isOut ? pictureProtocol(env) : null,
  };
}

function pictureProtocol(env: Readonly<Record<string, string | undefined>>): PictureProtocol | null {
  const program = env["TERM_PROGRAM"] ?? "";
  if (env["TMUX"] !== undefined) return null; // tmux swallows sequences it does not know
  if (env["KITTY_WINDOW_ID"] !== undefined || /kitty|ghostty/.test(env["TERM"] ?? "") || program === "ghostty")
    return "kitty";
  return program === "iTerm.app" || program === "WezTerm" ? "iterm" : null;
}

/** Styles the text when the terminal has colors; otherwise returns it as is. */
export function shade(terminal: Terminal, style: "dim" | "red" | "green", text: string): string {
  return terminal.hasColors ? styleText(style, text, { validateStream: false }) : text;
}
