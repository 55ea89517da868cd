/** The boundary between policy (call-model.ts) and providers (ai-sdk/): values in, values out, no SDK type. */
import type { SpooledFile } from "../files/index.ts";
import type { Reservation } from "./limits/byte-budget.ts";
import type { CatalogueEntry } from "./catalogue/catalogue.ts";
import type { JsonValue, Mapping } from "./catalogue/mapping.ts";
import type { Usage } from "./pricing/price-plan.ts";

export interface ModelImage {
  readonly bytes: Uint8Array;
  readonly mediaType: "image/png" | "image/jpeg";
}

/** One output item of a run, to be made by a model. */
export interface ModelRequest {
  readonly accountId: string;
  readonly runId: string;
  /** Fence: a later attempt's call makes what an earlier one writes void. */
  readonly attempt: number;
  readonly step: number;
  /** 0-based place among the items of the step. */
  readonly item: number;
  readonly model: string;
  readonly options: Readonly<Record<string, string>>;
  readonly instructions: string;
  readonly prompt: string;
  readonly images: readonly ModelImage[];
  /** Null: the model's limit. */
  readonly maxOutputTokens: number | null;
  /**
   * The run's deadline; nothing is sent or awaited past it. On this process's monotonic clock (`performance.now()`): its
   * wall clock may be set while the call is under way.
   */
  readonly deadlineMs: number;
}

export type ModelOutcome =
  /** `isTruncated`: the output limit cut the text; a normal success. */
  | { readonly kind: "text"; readonly text: string; readonly truncated: boolean; readonly usage: Usage }
  | { readonly kind: "image"; readonly bytes: Uint8Array; readonly mediaType: string; readonly usage: Usage }
  /** Whoever gets a spooled file keeps or discards it. */
  | {
      readonly kind: "video";
      readonly content: Uint8Array | SpooledFile;
      readonly mediaType: string;
      readonly usage: Usage;
    }
  /** `message` is a fixed sentence, fit for the error item. */
  | { readonly kind: "failed"; readonly message: string; readonly usage: Usage }
  /** Nothing is wrong with the run: give it back and claim it again after the delay. */
  | { readonly kind: "later"; readonly delayMs: number };

export interface ModelCaller {
  /** Rejects only when `signal` is aborted, or for a bug or an outage of the database. */
  call(request: ModelRequest, signal: AbortSignal): Promise<ModelOutcome>;
  /** Memory for a run's input images, taken before they are loaded. Null: none is free, come again a little later. */
  holdImages(bytes: number, signal: AbortSignal): Promise<Reservation | null>;
  /**
   * Vectors for search, one per text and in order.
   * @param model `provider/model`: openai, google, or a provider of the overlay file that some model of it uses.
   * @throws Error when the provider cannot make vectors, or fails; without its words.
   */
  embedTexts(model: string, texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** One send to a provider. Bytes, never addresses. */
export interface ModelCall {
  readonly entry: CatalogueEntry;
  /** What the run options mean, merged. */
  readonly mapping: Mapping;
  readonly instructions: string;
  readonly prompt: string;
  readonly images: readonly ModelImage[];
  readonly maxOutputTokens: number;
  readonly itemIndex: number;
  /** From 1, counted in the database across crashes. */
  readonly sendNumber: number;
  /** The same for every send of one item; for providers that take one. */
  readonly idempotencyKey: string;
}

export const FAILURE_CAUSES = [
  "rate_limited",
  "overloaded",
  "network",
  "timeout",
  "bad_request",
  "too_long",
  "credentials",
  "quota",
  "protocol",
  "too_large",
  "empty",
  "image_unusable",
  "job_failed",
] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

/** `once`: one more send at most, since the first may have been billed. */
export type Retry = "never" | "safe" | "once";

export interface CallFailure {
  readonly kind: "failed";
  readonly cause: FailureCause;
  readonly retry: Retry;
  /** Counts against the model in the circuit breaker; `opens`: it opens at once. */
  readonly breaker: "ignored" | "counted" | "opens";
  readonly retryAfterMs: number | null;
  /** Set by the sandbox alone: a sentence for the caller in place of the fixed one. */
  readonly sentence: string | null;
  /** For the operator's log: HTTP status and the provider's own code, never its text. */
  readonly httpStatus: number | null;
  readonly code: string | null;
  readonly usage: Usage | null;
}

export type ModelResult =
  | {
      readonly kind: "text";
      readonly text: string;
      readonly truncated: boolean;
      readonly usage: Usage;
      readonly requestId: string | null;
    }
  | {
      readonly kind: "image";
      readonly bytes: Uint8Array;
      readonly mediaType: string;
      readonly usage: Usage;
      readonly requestId: string | null;
    }
  | {
      readonly kind: "video";
      /** Spooled: on disk, since it was fetched; in memory: it came inside an answer. */
      readonly content: Uint8Array | SpooledFile;
      readonly mediaType: string;
      readonly usage: Usage;
      readonly requestId: string | null;
    }
  | { readonly kind: "refused"; readonly usage: Usage | null }
  | CallFailure;

/** A model that makes vectors of texts, for search; it stands in no catalogue. */
export interface EmbeddingsModel {
  readonly provider: string;
  readonly providerModel: string;
  /** Of an operator's own provider; null: a built-in one. */
  readonly server: CatalogueEntry["server"];
}

/** A finished video that is still with the provider: fetching it takes longer than asking for it. */
export interface ReadyVideo {
  readonly kind: "ready";
  load(signal: AbortSignal): Promise<ModelResult>;
}

export type VideoCancel =
  | { readonly kind: "canceled" | "impossible" }
  | Extract<ModelResult, { kind: "failed" | "refused" }>;

/** A failing call is a value; only cancellation and bugs throw. */
export interface ModelAdapter {
  /** Text and image. */
  callModel(call: ModelCall, signal: AbortSignal): Promise<ModelResult>;
  startVideo(
    call: ModelCall,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "started"; readonly operation: JsonValue } | ModelResult>;
  pollVideo(
    poll: { readonly entry: CatalogueEntry; readonly mapping: Mapping; readonly operation: JsonValue },
    signal: AbortSignal,
  ): Promise<{ readonly kind: "pending" } | ReadyVideo | ModelResult>;
  /** Asks the provider to stop a started video; `impossible`: it knows no such request. */
  cancelVideo(
    video: { readonly entry: CatalogueEntry; readonly operation: JsonValue },
    signal: AbortSignal,
  ): Promise<VideoCancel>;
  /** One vector per text, in order. Rejects when the provider fails, without its words. */
  embedTexts(model: EmbeddingsModel, texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}
