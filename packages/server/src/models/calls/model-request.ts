/** What the rest of the server asks of models, and what comes of it. */
import type { Permit } from "../../platform/resilience/semaphore.ts";
import type { ModelQuestion, ModelResult } from "../ai-sdk/model-adapter.ts";
import type { FailureCause, Usage } from "../providers/failure.ts";
import type { CountedCall } from "./provider-calls.ts";

/** One output item of a run, to be made by a model. */
export interface ModelRequest extends ModelQuestion {
  readonly accountId: string;
  readonly runId: string;
  /** Fence: a later attempt's call makes what an earlier one writes void. */
  readonly attempt: number;
  readonly step: number;
  /** 0-based number among the items of the step. */
  readonly item: number;
  readonly model: string;
  /** Models to call when that one cannot answer, best first. */
  readonly fallback?: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  /** Null: the usual limit of the model. */
  readonly maxOutputTokens: number | null;
  /**
   * The run's deadline; no call is made or awaited past it. On this process's monotonic clock (`performance.now()`): its
   * wall clock may be set while the call is under way.
   */
  readonly deadlineMs: number;
  /**
   * Called with a text while it is written, where somebody follows the run. A preview: another call may start over, and
   * the outcome is what counts.
   */
  readonly onText?: (piece: { readonly call: number; readonly text: string }) => void;
  /** The first call of the item, where it was counted with the run. */
  readonly counted?: CountedCall | null;
}

export interface FailedOutcome {
  readonly kind: "failed";
  /** For the operator. */
  readonly cause: FailureCause | "refused" | "attempts_used_up" | "not_json" | "model_unusable";
  /** A fixed sentence, fit for the error item. */
  readonly message: string;
  readonly usage: Usage;
}

type Made = Extract<ModelResult, { kind: "text" | "image" | "video" }>;

/**
 * `model`: the one that answered. `truncated`: the output limit cut the text; a normal success. The receiver of a spooled
 * file stores or discards it.
 */
export type ModelOutcome =
  | (Made & { readonly model: string })
  | FailedOutcome
  /** Nothing is wrong with the run: give it back and claim it again after the delay. */
  | { readonly kind: "later"; readonly delayMs: number };

export interface ModelCaller {
  /** Rejects only when `signal` is aborted, or for a bug or an outage of the database. */
  call(request: ModelRequest, signal: AbortSignal): Promise<ModelOutcome>;
  /** Uncounts a call that was not made, if it was not. */
  withdraw(counted: CountedCall): Promise<void>;
  /** Memory for a run's input images, taken before they are loaded. Null: none is free, come again a little later. An account has a quarter. */
  holdImages(
    request: { readonly bytes: number; readonly accountId: string },
    signal: AbortSignal,
  ): Promise<Permit | null>;
  /**
   * Vectors for search, one per text and in order.
   * @param model `provider/model`: openai, google, or a provider of the overlay file that some model of it uses.
   * @throws Error when the provider cannot make vectors, or fails; without its words.
   */
  embedTexts(model: string, texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** Of the runs of one model under way at once, over all workers. */
export interface LimitChange {
  readonly from: number;
  /** The same: the present limit is only asked for. */
  readonly to: number;
}
