import type { OutputItem, RunStatus } from "@promptd/contract";

export function isFinal(status: RunStatus): boolean {
  return status === "succeeded" || status === "failed";
}

/** The outputs that a run shows: none until it is final, whatever has already been written. */
export function visibleOutputs(status: RunStatus, outputs: readonly OutputItem[]): readonly OutputItem[] {
  return isFinal(status) ? outputs : [];
}
