import type { ClientContext } from "../client-context.ts";
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
import { createRunsClient, type RunsClient } from "./runs.ts";

export { runBatch } from "./run-batch.ts";

/** What `client.run` does not need. */
export interface OnDemand {
  readonly runs: RunsClient;
  readonly batches: BatchesClient;
  readonly prompts: PromptsClient;
  readonly promptVersions: PromptVersionsClient;
  readonly me: MeClient;
  readonly resources: ResourcesClient;
}

/** @param remember stores the hash of the model list, which later requests send. */
export function createLazyClients(parts: ClientContext, remember: (hash: string) => void): OnDemand {
  const { ask } = parts;
  return {
    runs: createRunsClient(parts),
    batches: createBatchesClient(parts),
    prompts: createPromptsClient(ask),
    promptVersions: createPromptVersionsClient(ask),
    me: createMeClient(ask),
    resources: createResourcesClient(ask, remember),
  };
}
