import type { OutputItem, RunStatus } from "@promptd/contract";

export function isFinal(status: RunStatus): boolean {
  return status === "succeeded" || status === "failed";
}

/** What a run shows while it is not final, whatever has already been written. */
export function visibleOutputs(status: RunStatus, outputs: readonly OutputItem[]): readonly OutputItem[] {
  return isFinal(status) ? outputs : [];
}
