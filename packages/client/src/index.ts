export { createClient, type Client, type ClientOptions, type ResourcesClient } from "./client.ts";
export type { CallEndpoint, EndpointAnswer, EndpointCall } from "./call-endpoint.ts";
export type { Delay } from "./delay.ts";
export { PromptdConnectionError, PromptdError, PromptdProtocolError } from "./errors.ts";
export { imageFromBytes, imageFromUrl } from "./images.ts";
export type { CallOptions, CreateAndWaitOptions, CreateRunOptions, GetRunOptions, RunsClient } from "./runs.ts";
export type { RawAnswer, RawRequest } from "./transport.ts";
