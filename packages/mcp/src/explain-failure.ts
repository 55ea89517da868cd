import { PromptdConnectionError, PromptdError, PromptdProtocolError } from "@promptd/client";

/** What a model should read of an error that a call of a tool ended with; null: it is a fault of the program. */
export function explainFailure(error: unknown): string | null {
  if (error instanceof PromptdError) {
    const request = error.code === "SERVER_ERROR" && error.requestId !== null ? ` Request ${error.requestId}.` : "";
    return `${error.message}${request}`;
  }
  if (error instanceof PromptdConnectionError || error instanceof PromptdProtocolError) return error.message;
  return error instanceof RangeError || error instanceof TypeError ? error.message : null;
}
