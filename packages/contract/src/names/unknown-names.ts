import { printable } from "../printable-text.ts";
import { suggestName } from "./suggest-name.ts";

/** Maximum length of an input name, in code points. A longer name is not a typo. */
export const INPUT_NAME_LENGTH_MAX = 100;

/** Maximum number of names reported, for inputs and for options: as many as an error has issues. */
const NAMED_MAX = 20;

/** The names of a run's inputs and options. */
export interface GivenNames {
  readonly inputs: readonly string[];
  readonly options: readonly string[];
}

/** The inputs and options that a prompt has, by name. A config has this shape. */
export interface KnownNames {
  readonly textInputs: object;
  readonly runOptions: object;
}

/**
 * A message for each name that the prompt does not have, with the likely intended name or the known names: the
 * first twenty inputs and options each. The server ignores such names, and the run is charged without them.
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
  const names = known.length === 0 ? `It has no ${what}s.` : `Its ${what}s: ${known.map(whole).join(", ")}.`;
  return given
    .filter((name) => !has.has(name))
    .slice(0, NAMED_MAX)
    .map((name) => {
      const suggested = name.length > INPUT_NAME_LENGTH_MAX ? null : suggestName(name.toLowerCase(), lower);
      const meant = known[lower.indexOf(suggested ?? "")];
      const hint = meant === undefined ? names : `Did you mean "${whole(meant)}"?`;
      return `The prompt has no ${what} "${printable(name)}". ${hint}`;
    });
}

/** One of the prompt's names, uncut: a shortened name could not be used as an input. */
function whole(name: string): string {
  return printable(name, Number.POSITIVE_INFINITY);
}
