/** The boundary between call policy (calls/) and providers: values in, values out, no SDK types. */
import type { SpooledFile } from "../../files/index.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { EmbeddingsModel } from "../catalogue/embeddings-model.ts";
import type { ModelImage } from "../providers/jobs.ts";
import type { TextSettings } from "../providers/provider.ts";
import type { Mapping } from "../catalogue/option-mapping.ts";
import type { JsonObject, JsonValue } from "../../platform/json.ts";
import type { CallFailure, Usage } from "../providers/failure.ts";

/** An author's permission for the model to search the web. */
export interface WebSearchChoice {
  /** True: the sources that the provider names are listed below the text. */
  readonly sources: boolean;
}

/** An answer that did not match the schema. */
export interface Correction {
  readonly answer: string;
  readonly problem: string;
}

/** What a model is asked: the same in a request and in each call made for it. Images are bytes, never addresses. */
export interface ModelQuestion {
  readonly instructions: string;
  readonly prompt: string;
  /** For the sandbox: the prompt as its author wrote it; null: directives in a caller's text are obeyed too. */
  readonly authorsText: string | null;
  readonly images: readonly ModelImage[];
  readonly settings?: TextSettings | undefined;
  /** The conversation before the prompt, in turns. */
  readonly messages?: readonly { readonly role: "user" | "assistant"; readonly text: string }[] | undefined;
  /** JSON Schema for the returned text. */
  readonly outputSchema?: JsonObject | undefined;
  /** Set: the model may search the web, through its provider. */
  readonly webSearch?: WebSearchChoice | undefined;
}

/** One call of a provider. */
export interface ModelCall extends ModelQuestion {
  readonly entry: CatalogueEntry;
  /** What the run options mean, merged. */
  readonly mapping: Mapping;
  /** The previous answer, and why it did not match the schema. */
  readonly correction?: Correction | undefined;
  readonly maxOutputTokens: number;
  readonly itemIndex: number;
  /** From 1, counted in the database across crashes. */
  readonly callNumber: number;
  /** The same for every attempt at one item; for providers that support idempotency keys. */
  readonly idempotencyKey: string;
  /** Index of the provider key, from 0. */
  readonly key: number;
  /** How long the answer is waited for. */
  readonly timeLimitMs: number;
  /** Called with the text as it is written. Null: nobody reads it, so the provider is asked for one complete answer. */
  readonly onText: ((text: string) => void) | null;
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
      /** A spooled file if it was fetched; bytes in memory if it came inside a response. */
      readonly content: Uint8Array | SpooledFile;
      readonly mediaType: string;
      readonly usage: Usage;
      readonly requestId: string | null;
    }
  | { readonly kind: "refused"; readonly usage: Usage | null }
  | CallFailure;

export interface JobPoll {
  readonly call: Pick<ModelCall, "entry" | "mapping" | "images">;
  /** How the provider names the job. */
  readonly operation: JsonValue;
}

export type PollAnswer = { readonly kind: "pending" } | ReadyJob | ModelResult;

/** A result that is still at the provider: fetching it takes longer than polling. */
export interface ReadyJob {
  readonly kind: "ready";
  load(signal: AbortSignal): Promise<ModelResult>;
}

export type JobCancel =
  | { readonly kind: "canceled" | "impossible" }
  | Extract<ModelResult, { kind: "failed" | "refused" }>;

/** Failed calls are values; only cancellation and bugs throw. */
export interface ModelAdapter {
  /** For calls answered directly; see makesJobs for the rest. */
  callModel(call: ModelCall, signal: AbortSignal): Promise<ModelResult>;
  startJob(
    call: ModelCall,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "started"; readonly operation: JsonValue } | ModelResult>;
  pollJob(poll: JobPoll, signal: AbortSignal): Promise<PollAnswer>;
  /** Asks the provider to stop a started job; `impossible`: the provider does not support that. */
  cancelJob(
    job: { readonly entry: CatalogueEntry; readonly operation: JsonValue },
    signal: AbortSignal,
  ): Promise<JobCancel>;
  /** Returns one vector per text, in order. Rejects if the provider fails, without its error message. */
  embedTexts(model: EmbeddingsModel, texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  /** How many keys the model's provider has, used in turn; if absent, one. */
  readonly countKeys?: (entry: CatalogueEntry) => number;
  close(): Promise<void>;
}
