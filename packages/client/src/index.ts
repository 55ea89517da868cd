export { createClient, type Client, type ClientOptions } from "./client.ts";
export type { BatchesClient, CreateBatchOptions, WaitForBatchOptions } from "./on-demand/batches.ts";
export type { ResourcesClient } from "./on-demand/readers.ts";
export type { CallEndpoint, EndpointAnswer, EndpointCall } from "./call-endpoint.ts";
export type { Delay } from "./delay.ts";
export { PromptdConnectionError, PromptdError, PromptdProtocolError, PromptdRunError } from "./errors.ts";
export { imageFromBytes, imageFromUrl, toImageInput, type ImageSource } from "./images.ts";
export type { InputValue, InputsOf, KnownPrompt, KnownPrompts, OptionsOf, PromptName } from "./run/known-prompts.ts";
export type { BatchRun, FinishedBatch, RunBatchOptions } from "./on-demand/run-batch.ts";
export type { FinishedRun, RunPromptOptions, RunTask } from "./run/run-prompt.ts";
export type {
  CallOptions,
  CreateAndWaitOptions,
  CreateRunOptions,
  GetRunOptions,
  RunsClient,
} from "./on-demand/runs.ts";
export type { RawAnswer, RawRequest } from "./transport.ts";
