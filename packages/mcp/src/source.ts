import type { Client } from "@promptd/client";
import type { PromptChoice } from "./prompts/choice.ts";

/** What the tools work with: a server, reached with one account's key. */
export interface McpSource {
  readonly client: Client;
  readonly choice: PromptChoice;
  /** Fetches a generated file. */
  readonly fetchFile: (url: string, signal: AbortSignal) => Promise<Response>;
  /** Reads an image that a tool call names by path; null: paths are rejected. */
  readonly readImageFile: ((path: string) => Promise<Uint8Array>) | null;
}

/** How one tool call is followed. */
export interface CallContext {
  /** Aborts when the caller no longer wants the result. */
  readonly signal: AbortSignal;
  /** True: the run is canceled with the call. False: it continues, because only a connection was lost. */
  readonly cancelsRun: () => boolean;
  /** Identifies the call if the caller may send it again; a repeat joins the same run. */
  readonly callKey: string | null;
  /** Reports progress; null: the caller did not ask for it. */
  readonly report: ((message: string) => void) | null;
}
