import type { Client } from "@promptd/client";
import type { PromptChoice } from "./prompts/choice.ts";

/** What the tools work with: a server, reached with one account's key. */
export interface McpSource {
  readonly client: Client;
  readonly choice: PromptChoice;
  /** A generated file. */
  readonly fetchFile: (url: string, signal: AbortSignal) => Promise<Response>;
  /** Reads an image that a tool call names by a path; null: paths are refused. */
  readonly readImageFile: ((path: string) => Promise<Uint8Array>) | null;
}

/** How one call of a tool is followed. */
export interface CallContext {
  /** The caller wants the outcome no more. */
  readonly signal: AbortSignal;
  /** True: the run is canceled with the call. False: it goes on, since only a connection was lost. */
  readonly cancelsRun: () => boolean;
  /** Names the call, where the caller may send it again: it then joins the same run. */
  readonly callKey: string | null;
  /** Says how far the work is; null: nobody wants to know. */
  readonly report: ((message: string) => void) | null;
}
