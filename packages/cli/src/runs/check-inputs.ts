import { describeUnknownNames, type GivenNames, type KnownNames } from "@promptd/contract";
import { CommandFailure } from "../command.ts";

/** @throws CommandFailure that names each name that the prompt does not know, and what was meant. */
export function refuseUnknownNames(known: KnownNames, given: GivenNames): void {
  const faults = describeUnknownNames(known, given);
  if (faults.length === 0) return;
  throw new CommandFailure(faults.join("\n"), { hint: "Nothing was sent, and nothing was charged." });
}
