import type { OutputItem } from "@promptd/contract";
import type { StoredFile } from "../../files/index.ts";

/** What a run that is final shows and costs. */
export interface RunResult {
  readonly ok: boolean;
  readonly outputs: readonly OutputItem[];
  /** Actual price; the smaller of it and the hold is captured. */
  readonly credits: number;
  /** Why it failed, for the operator; null when it succeeded. */
  readonly reason: string | null;
  /** More of that, in a sentence; absent: nothing. */
  readonly detail?: string | undefined;
  readonly files: readonly StoredFile[];
  /** The model that answered in place of the prompt's own; absent: that one. */
  readonly answeredBy?: string | undefined;
}

/** A provider, a disk or this process needs time to recover; nothing is wrong with the run, and no attempt is counted. */
export type Postponed = { readonly kind: "postponed"; readonly delayMs: number };

/** Everything that may become of one attempt at a run; settle.ts says what each means. */
export type RunOutcome =
  | { readonly kind: "finished"; readonly result: RunResult }
  | Postponed
  /** A bug, or something else that nobody foresaw. */
  | { readonly kind: "crashed"; readonly error: unknown }
  /** Our database went away. */
  | { readonly kind: "interrupted"; readonly error: unknown }
  /** Canceled, released or claimed by another worker: whoever did that has settled the run. */
  | { readonly kind: "revoked" };

/** A model has failed; why is for the operator alone, such as a provider's account without credit. */
export const NO_USABLE_OUTPUT = "no_usable_output";

const OWNERS_REASONS: ReadonlySet<string> = new Set([
  "canceled",
  "deadline",
  "worker_lost",
  "broken",
  "version_missing",
  "model_unusable",
  "image_unusable",
]);

/** What the owner of a run hears of why it failed. */
export function reasonForOwner(reason: string | null): string | null {
  return reason === null || OWNERS_REASONS.has(reason) ? reason : NO_USABLE_OUTPUT;
}

export function failed(reason: string, message: string, detail?: string): Extract<RunOutcome, { kind: "finished" }> {
  const outputs: readonly OutputItem[] = [{ type: "error", data: message }];
  return { kind: "finished", result: { ok: false, outputs, credits: 0, reason, detail, files: [] } };
}
