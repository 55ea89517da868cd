import type { PageQuery } from "./pages.ts";

export const RUN_STATUSES = ["queued", "running", "succeeded", "failed"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const OUTPUT_TYPES = ["text", "image", "video", "error"] as const;
export interface OutputItem {
  readonly type: (typeof OUTPUT_TYPES)[number];
  /** Text, a URL valid for 24 hours, or the message that explains a failed step. */
  readonly data: string;
}

/** The shape that create and retrieve return. */
export interface Run {
  readonly runId: string;
  /** Empty until the run is final. */
  readonly outputs: readonly OutputItem[];
  readonly runStatus: RunStatus;
  /** Credits captured; 0 if unfinished, failed, or free. */
  readonly tokens: number;
}

/**
 * The events of GET /v1/runs/:runId/events, in order: states, text while the model writes it, each output, and the end.
 */
export type RunEvent =
  | { readonly event: "status"; readonly data: { readonly runId: string; readonly runStatus: RunStatus } }
  | {
      /** A preview. The final text comes with `output` and `done`. */
      readonly event: "text";
      /** Send it back as Last-Event-ID, and text continues after it. */
      readonly id: string;
      readonly data: {
        /** Position among the run's outputs. */
        readonly index: number;
        /** Number of the model call that writes the text. If it increases, discard this output's text so far. */
        readonly call: number;
        readonly text: string;
      };
    }
  | { readonly event: "output"; readonly data: OutputItem & { readonly index: number } }
  /** The run as GET /v1/runs/:runId returns it; the stream ends after it. */
  | { readonly event: "done"; readonly data: Run };

/** The response of an endpoint that returns server-sent events instead of an envelope. */
export interface EventStream {
  readonly events: readonly RunEvent[];
}

/** The batch that a run belongs to. */
export interface BatchOfRun {
  readonly batchId: string;
  readonly name: string | null;
}

/** One row of the run list. */
export interface RunListRow {
  readonly runId: string;
  readonly promptVersionId: string;
  readonly outputs: readonly OutputItem[];
  readonly runStatus: RunStatus;
  /** Null if the run is free; otherwise 0 until the run succeeds. */
  readonly credits: number | null;
  readonly runName: string;
  /** ISO 8601, UTC, three decimals. */
  readonly createdAt: string;
  /** Only present if `include` asks for it. Null: the run does not belong to a batch. */
  readonly batch?: BatchOfRun | null | undefined;
}

export type ImageInput =
  /** A publicly accessible HTTPS address. */
  | { readonly type: "url"; readonly url: string }
  /** Base64 of a PNG, JPEG, WebP, or GIF, without a data: prefix. */
  | { readonly type: "base64"; readonly base64: string };

export interface CreateRunBody {
  readonly promptVersionId: string;
  readonly inputs: {
    /** Keys are the author's own words ("Child's Age"), not identifiers. */
    readonly textInputs?: Readonly<Record<string, string>> | null | undefined;
    readonly imageInputs?: readonly ImageInput[] | null | undefined;
  };
  /** Keys and values as GET /v1/resources lists them for the model; values are strings, even numbers. */
  readonly runOptions?: Readonly<Record<string, string>> | null | undefined;
}

export interface ListRunsQuery extends PageQuery {
  readonly status?: RunStatus | undefined;
  /** Unix time in seconds or milliseconds, inclusive. */
  readonly since?: number | undefined;
  /** Unix time in seconds or milliseconds, exclusive. */
  readonly until?: number | undefined;
  /** Adds details to each run: the batch that it belongs to. */
  readonly include?: "batch" | undefined;
}
