import { printable } from "../printable-text.ts";
import { suggestName } from "./suggest-name.ts";

/** Of the name of an input, in code points. A longer one is no slip of the hand. */
export const INPUT_NAME_LENGTH_MAX = 100;

/** Of inputs, and of options: as many as an error has issues. */
const NAMED_MAX = 20;

/** Names of the inputs and options that a run is given. */
export interface GivenNames {
  readonly inputs: readonly string[];
  readonly options: readonly string[];
}

/** What a prompt takes, by name; its config is such. */
export interface KnownNames {
  readonly textInputs: object;
  readonly runOptions: object;
}

/**
 * A sentence for each name that the prompt does not have, with what was meant or what it takes: of inputs and of options
 * the first twenty. The server ignores such names, and the run is paid for without them.
 */
export function describeUnknownNames(
  { textInputs, runOptions }: KnownNames,
  { inputs, options }: GivenNames,
): string[] {
  return [
    ...describe("input", inputs, Object.keys(textInputs)),
    ...describe("option", options, Object.keys(runOptions)),
  ];
}

function describe(what: "input" | "option", given: readonly string[], known: readonly string[]): string[] {
  const has = new Set(known);
  const lower = known.map((name) => name.toLowerCase());
  const takes = known.length === 0 ? `It takes no ${what}s.` : `It takes: ${known.map(whole).join(", ")}.`;
  return given
    .filter((name) => !has.has(name))
    .slice(0, NAMED_MAX)
    .map((name) => {
      const suggested = name.length > INPUT_NAME_LENGTH_MAX ? null : suggestName(name.toLowerCase(), lower);
      const meant = known[lower.indexOf(suggested ?? "")];
      const hint = meant === undefined ? takes : `Did you mean "${whole(meant)}"?`;
      return `The prompt has no ${what} "${printable(name)}". ${hint}`;
    });
}

/** A name of the prompt: cut, it could not be given as an input. */
function whole(name: string): string {
  return printable(name, Number.POSITIVE_INFINITY);
}
