import type { PromptConfig } from "../prompts.ts";
import { printable } from "../quote.ts";
import { suggestName } from "./suggest-name.ts";

/** Names of the inputs and options that a run is given. */
export interface GivenNames {
  readonly inputs: readonly string[];
  readonly options: readonly string[];
}

/**
 * A sentence for each name that the prompt does not have, with what was meant or what it takes. The server ignores such
 * names, and the run is paid for without them.
 */
export function describeUnknownNames(
  { textInputs, runOptions }: Pick<PromptConfig, "textInputs" | "runOptions">,
  { inputs, options }: GivenNames,
): string[] {
  return [
    ...describe("input", inputs, Object.keys(textInputs)),
    ...describe("option", options, Object.keys(runOptions)),
  ];
}

function describe(what: "input" | "option", given: readonly string[], known: readonly string[]): string[] {
  const lower = known.map((name) => name.toLowerCase());
  const takes = known.length === 0 ? `It takes no ${what}s.` : `It takes: ${known.map(shown).join(", ")}.`;
  return given
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = known[lower.indexOf(suggestName(name.toLowerCase(), lower) ?? "")];
      const hint = meant === undefined ? takes : `Did you mean "${shown(meant)}"?`;
      return `The prompt has no ${what} "${shown(name)}". ${hint}`;
    });
}

/** Whole: a cut name could not be given as an input. */
function shown(name: string): string {
  return printable(name, Number.POSITIVE_INFINITY);
}
