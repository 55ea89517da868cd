import type { PromptFileFault } from "@promptd/contract/manage";

/** Maps faults of an earlier text to their lines in this one. Faults below an edit move with it. */
export function moveFaults<Fault extends Pick<PromptFileFault, "line">>(
  faults: readonly Fault[],
  before: string,
  after: string,
): readonly Fault[] {
  if (faults.length === 0 || before === after) return faults;
  const [old, next] = [before.split("\n"), after.split("\n")];
  const [most, moved] = [Math.min(old.length, next.length), next.length - old.length];
  let above = 0;
  while (above < most && old[above] === next[above]) above += 1;
  let below = 0;
  while (below < most - above && old.at(-1 - below) === next.at(-1 - below)) below += 1;
  return faults.map((fault) => {
    if (fault.line === null || fault.line <= above) return fault;
    if (fault.line > old.length - below) return { ...fault, line: fault.line + moved };
    // Inside the edit: as close as possible until the next check.
    return { ...fault, line: Math.min(fault.line, Math.max(next.length - below, above, 1)) };
  });
}
