export { createClient, type Client, type ClientOptions } from "./client.ts";
export type { BatchesClient, CreateBatchOptions, WaitForBatchOptions } from "./lazy/batches.ts";
export type { MeClient, PromptsClient, PromptVersionsClient, ResourcesClient } from "./lazy/readers.ts";
export type { CallEndpoint, EndpointAnswer, EndpointCall } from "./call-endpoint.ts";
export type { Delay } from "./delay.ts";
export { PromptdConnectionError, PromptdError, PromptdProtocolError, PromptdRunError } from "./errors.ts";
export { imageFromBytes, imageFromUrl, toImageInput, type ImageSource } from "./images.ts";
export type { InputValue, InputsOf, KnownPrompt, KnownPrompts, OptionsOf, PromptName } from "./run/known-prompts.ts";
export type { BatchRun, FinishedBatch, RunBatchOptions } from "./lazy/run-batch.ts";
export type { InputsOfRun, RunPromptOptions } from "./run/run-options.ts";
export type { FinishedRun, RunTask } from "./run/run-prompt.ts";
export type { CallOptions, CreateAndWaitOptions, CreateRunOptions, GetRunOptions, RunsClient } from "./lazy/runs.ts";
export type { RawAnswer, RawRequest } from "./transport.ts";
/** The bits of `userFlags`. */
export { USER_FLAGS } from "@promptd/contract";
/** What the methods accept and return, so that a program can name it. */
export type {
  Batch,
  BatchCounts,
  BatchItem,
  BatchItemStatus,
  BatchOfRun,
  BatchPause,
  BatchResult,
  BatchStatus,
  CreateBatchBody,
  CreateRunBody,
  EndpointShapes,
  Envelope,
  ErrorCode,
  ErrorEnvelope,
  ImageInput,
  ImageInputSlot,
  Issue,
  IssueCode,
  ListRunsQuery,
  Modality,
  ModelEntry,
  NamedPrompt,
  NamedPrompts,
  OutputItem,
  Page,
  PageQuery,
  PromptConfig,
  PromptSamples,
  PromptVersion,
  Resources,
  ResultLines,
  Run,
  RunEvent,
  RunListRow,
  RunStatus,
  SearchResult,
  SearchRow,
  SlugVersion,
  SuccessEnvelope,
  TextInputField,
  ValidationData,
} from "@promptd/contract";
