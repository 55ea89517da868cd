import { describeUnknownNames, type GivenNames, type KnownNames } from "@promptd/contract";
import { CommandFailure } from "../command.ts";

/** @throws CommandFailure that lists each unknown name with a suggestion. */
export function refuseUnknownNames(known: KnownNames, given: GivenNames): void {
  const faults = describeUnknownNames(known, given);
  if (faults.length === 0) return;
  throw new CommandFailure(faults.join("\n"), { hint: "Nothing was sent, and nothing was charged." });
}
