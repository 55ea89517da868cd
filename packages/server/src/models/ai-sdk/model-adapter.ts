/** The boundary between the policy of calls (calls/) and providers: values in, values out, no type of the SDK. */
import type { SpooledFile } from "../../files/index.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { EmbeddingsModel } from "../catalogue/embeddings-model.ts";
import type { ModelImage } from "../providers/jobs.ts";
import type { TextSettings } from "../providers/provider.ts";
import type { Mapping } from "../catalogue/option-mapping.ts";
import type { JsonObject, JsonValue } from "../../platform/json.ts";
import type { CallFailure, Usage } from "../providers/failure.ts";

/** That an author lets the model search the web. */
export interface WebSearchChoice {
  /** True: what the provider names as sources is listed below the text. */
  readonly sources: boolean;
}

/** An answer that did not fit the schema. */
export interface Correction {
  readonly answer: string;
  readonly problem: string;
}

/** What a model is asked: the same in a request and in each call that is made for it. Bytes, never addresses. */
export interface ModelQuestion {
  readonly instructions: string;
  readonly prompt: string;
  /** For the sandbox: the prompt as its author wrote it; null: directives in a caller's text are obeyed as well. */
  readonly authorsText: string | null;
  readonly images: readonly ModelImage[];
  readonly settings?: TextSettings | undefined;
  /** Said before the prompt, by turns. */
  readonly messages?: readonly { readonly role: "user" | "assistant"; readonly text: string }[] | undefined;
  /** JSON Schema of the text to be returned. */
  readonly outputSchema?: JsonObject | undefined;
  /** Set: the model may search the web, by its provider's own means. */
  readonly webSearch?: WebSearchChoice | undefined;
}

/** One call of a provider. */
export interface ModelCall extends ModelQuestion {
  readonly entry: CatalogueEntry;
  /** What the run options mean, merged. */
  readonly mapping: Mapping;
  /** What was returned to this call before, and why it did not fit the schema. */
  readonly correction?: Correction | undefined;
  readonly maxOutputTokens: number;
  readonly itemIndex: number;
  /** From 1, counted in the database across crashes. */
  readonly callNumber: number;
  /** The same for every attempt at one item; for providers that take one. */
  readonly idempotencyKey: string;
  /** Which of the provider's keys, from 0. */
  readonly key: number;
  /** Nobody waits for the answer any longer. */
  readonly timeLimitMs: number;
  /** Called with the text while it is written. Null: nobody reads it, and the provider is asked for one whole answer. */
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
      /** Spooled: on disk, since it was fetched; in memory: it came inside an answer. */
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

/** What a job made, and is still with the provider: fetching it takes longer than polling it. */
export interface ReadyJob {
  readonly kind: "ready";
  load(signal: AbortSignal): Promise<ModelResult>;
}

export type JobCancel =
  | { readonly kind: "canceled" | "impossible" }
  | Extract<ModelResult, { kind: "failed" | "refused" }>;

/** A failing call is a value; only cancellation and bugs throw. */
export interface ModelAdapter {
  /** Whatever is answered at once; see makesJobs for the rest. */
  callModel(call: ModelCall, signal: AbortSignal): Promise<ModelResult>;
  startJob(
    call: ModelCall,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "started"; readonly operation: JsonValue } | ModelResult>;
  pollJob(poll: JobPoll, signal: AbortSignal): Promise<PollAnswer>;
  /** Asks the provider to stop a started job; `impossible`: it knows no such request. */
  cancelJob(
    job: { readonly entry: CatalogueEntry; readonly operation: JsonValue },
    signal: AbortSignal,
  ): Promise<JobCancel>;
  /** One vector per text, in order. Rejects when the provider fails, without its words. */
  embedTexts(model: EmbeddingsModel, texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  /** How many keys the model's provider has, by turns; absent: one. */
  readonly countKeys?: (entry: CatalogueEntry) => number;
  close(): Promise<void>;
}
