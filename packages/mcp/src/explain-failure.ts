import { PromptdConnectionError, PromptdError, PromptdProtocolError } from "@promptd/client";

/** The text that a model should read when a tool call fails; null: the error is a bug. */
export function explainFailure(error: unknown): string | null {
  if (error instanceof PromptdError) {
    const request = error.code === "SERVER_ERROR" && error.requestId !== null ? ` Request ${error.requestId}.` : "";
    return `${error.message}${request}`;
  }
  if (error instanceof PromptdConnectionError || error instanceof PromptdProtocolError) return error.message;
  return error instanceof RangeError || error instanceof TypeError ? error.message : null;
}
