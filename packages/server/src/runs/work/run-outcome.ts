import type { OutputItem } from "@promptd/contract";
import type { StoredFile } from "../../files/index.ts";

/** What a final run shows and costs. */
export interface RunResult {
  readonly ok: boolean;
  readonly outputs: readonly OutputItem[];
  /** Actual price; the lower of the price and the hold is captured. */
  readonly credits: number;
  /** Why it failed, for the operator; null when it succeeded. */
  readonly reason: string | null;
  /** Further detail in one sentence; absent: none. */
  readonly detail?: string | undefined;
  readonly files: readonly StoredFile[];
  /** The fallback model that answered; absent: the prompt's own model answered. */
  readonly answeredBy?: string | undefined;
}

/** A provider, a disk, or this process needs time to recover; the run is fine, and no attempt is counted. */
export type Postponed = { readonly kind: "postponed"; readonly delayMs: number };

/** Every possible outcome of one attempt at a run; settle.ts says what each means. */
export type RunOutcome =
  | { readonly kind: "finished"; readonly result: RunResult }
  | Postponed
  /** A bug, or another unforeseen failure. */
  | { readonly kind: "crashed"; readonly error: unknown }
  /** The connection to the database was lost. */
  | { readonly kind: "interrupted"; readonly error: unknown }
  /** Canceled, released, or claimed by another worker, which has settled the run already. */
  | { readonly kind: "revoked" };

/** A model failed. Only the operator sees why, for example that a provider account has no credit. */
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

/** The failure reason that the run's owner sees. */
export function reasonForOwner(reason: string | null): string | null {
  return reason === null || OWNERS_REASONS.has(reason) ? reason : NO_USABLE_OUTPUT;
}

export function failed(reason: string, message: string, detail?: string): Extract<RunOutcome, { kind: "finished" }> {
  const outputs: readonly OutputItem[] = [{ type: "error", data: message }];
  return { kind: "finished", result: { ok: false, outputs, credits: 0, reason, detail, files: [] } };
}
