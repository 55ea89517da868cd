import type { PromptConfig } from "@promptd/contract";
import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";
import { suggestName } from "../suggest-name.ts";

/**
 * A name that the prompt does not know would be ignored by the server, and the run paid for without it.
 * @throws CommandFailure that names each of them, and what was meant.
 */
export function refuseUnknownNames(config: PromptConfig, inputs: readonly string[], options: readonly string[]): void {
  const [knownInputs, knownOptions] = [Object.keys(config.textInputs), Object.keys(config.runOptions)];
  const faults = [
    ...inputs.filter((name) => !knownInputs.includes(name)).map((name) => describe("input", name, knownInputs)),
    ...options.filter((name) => !knownOptions.includes(name)).map((name) => describe("option", name, knownOptions)),
  ];
  if (faults.length === 0) return;
  throw new CommandFailure(faults.join("\n"), { hint: "Nothing was sent, and nothing was charged." });
}

function describe(what: "input" | "option", name: string, known: readonly string[]): string {
  const sentence = `The prompt has no ${what} "${printableLine(name)}".`;
  const meant = suggestName(
    name.toLowerCase(),
    known.map((one) => one.toLowerCase()),
  );
  const found = known.find((one) => one.toLowerCase() === meant);
  if (found !== undefined) return `${sentence} Did you mean "${printableLine(found)}"?`;
  const names = known.map(printableLine).join(", ");
  return known.length === 0 ? `${sentence} It takes no ${what}s.` : `${sentence} It takes: ${names}.`;
}
