/** What the rest of the server asks of models, and the results. */
import type { Permit } from "../../platform/resilience/semaphore.ts";
import type { ModelQuestion, ModelResult } from "../ai-sdk/model-adapter.ts";
import type { FailureCause, Usage } from "../providers/failure.ts";
import type { CountedCall } from "./provider-calls.ts";

/** One output item of a run, for a model to generate. */
export interface ModelRequest extends ModelQuestion {
  readonly accountId: string;
  readonly runId: string;
  /** Fence: once a later attempt has called, writes of an earlier attempt have no effect. */
  readonly attempt: number;
  readonly step: number;
  /** 0-based number among the items of the step. */
  readonly item: number;
  readonly model: string;
  /** Models to call if that one cannot answer, best first. */
  readonly fallback?: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  /** Null: the model's usual limit. */
  readonly maxOutputTokens: number | null;
  /**
   * The run's deadline; no call is made or awaited past it. On this process's monotonic clock (`performance.now()`),
   * since the wall clock may be set while the call is under way.
   */
  readonly deadlineMs: number;
  /**
   * Called with the text as it is written, if somebody follows the run. It is a preview: another call may start over, and
   * only the outcome counts.
   */
  readonly onText?: (piece: { readonly call: number; readonly text: string }) => void;
  /** The first call of the item, if it was counted with the run. */
  readonly counted?: CountedCall | null;
}

export interface FailedOutcome {
  readonly kind: "failed";
  /** For the operator. */
  readonly cause: FailureCause | "refused" | "attempts_used_up" | "not_json" | "model_unusable";
  /** A fixed sentence for the error item. */
  readonly message: string;
  readonly usage: Usage;
}

type Made = Extract<ModelResult, { kind: "text" | "image" | "video" }>;

/**
 * `model`: the model that answered. `truncated`: the output limit cut the text, which is a normal success. The receiver of
 * a spooled file must store or discard it.
 */
export type ModelOutcome =
  | (Made & { readonly model: string })
  | FailedOutcome
  /** Nothing is wrong with the run: release it, and claim it again after the delay. */
  | { readonly kind: "later"; readonly delayMs: number };

export interface ModelCaller {
  /** Rejects only if `signal` is aborted, or for a bug or a database outage. */
  call(request: ModelRequest, signal: AbortSignal): Promise<ModelOutcome>;
  /** Uncounts a counted call if it was never made. */
  withdraw(counted: CountedCall): Promise<void>;
  /** Reserves memory for a run's input images before they are loaded. Null: none is free, try again later. An account gets at most a quarter. */
  reserveImages(
    request: { readonly bytes: number; readonly accountId: string },
    signal: AbortSignal,
  ): Promise<Permit | null>;
  /**
   * Creates vectors for search, one per text, in order.
   * @param model `provider/model`: openai, google, or a provider in the overlay file that at least one model there uses.
   * @throws Error if the provider cannot create vectors, or fails; without the provider's error message.
   */
  embedTexts(model: string, texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** A change to how many runs of one model may be under way at once, across all workers. */
export interface LimitChange {
  readonly from: number;
  /** Equal to `from`: only read the current limit. */
  readonly to: number;
}
