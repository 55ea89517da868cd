import { ENDPOINTS, type EndpointShapes } from "@promptd/contract";
import { createAsk, createCallEndpoint, type CallEndpoint } from "../call-endpoint.ts";
import type { ClientContext, WholeContext } from "../client-context.ts";
import { createBatchesClient, type BatchesClient } from "./batches.ts";
import {
  createMeClient,
  createPromptsClient,
  createPromptVersionsClient,
  createResourcesClient,
  type MeClient,
  type PromptsClient,
  type PromptVersionsClient,
  type ResourcesClient,
} from "./readers.ts";
import { runBatch, type FinishedBatch, type RunBatchArguments } from "./run-batch.ts";
import { createRunsClient, type RunsClient } from "./runs.ts";

/** The clients by subject. */
export interface LazyClients {
  readonly runs: RunsClient;
  readonly batches: BatchesClient;
  readonly prompts: PromptsClient;
  readonly promptVersions: PromptVersionsClient;
  readonly me: MeClient;
  readonly resources: ResourcesClient;
}

/** What `client.run` does not need. */
interface OnDemand extends LazyClients {
  readonly call: CallEndpoint;
  readonly runBatch: (given: RunBatchArguments) => Promise<FinishedBatch>;
}

/** @param remember stores the hash of the model list, which later requests send. */
export function createOnDemand(ofRun: ClientContext, remember: (hash: string) => void): OnDemand {
  const call = createCallEndpoint<EndpointShapes>(ENDPOINTS, ofRun.send, ofRun.policy);
  const ask = createAsk(call);
  const parts: WholeContext = { ...ofRun, call, ask };
  return {
    call,
    runBatch: (given) => runBatch(parts, given),
    runs: createRunsClient(parts),
    batches: createBatchesClient(parts),
    prompts: createPromptsClient(ask),
    promptVersions: createPromptVersionsClient(ask),
    me: createMeClient(ask),
    resources: createResourcesClient(ask, remember),
  };
}
