import { ENDPOINTS, type EndpointShapes } from "@promptd/contract";
import type { CallEndpoint } from "./call-endpoint.ts";
import type { ClientContext } from "./client-context.ts";
import { connect, type ConnectOptions } from "./connect.ts";
import { refuse } from "./errors.ts";
import type { BatchesClient } from "./lazy/batches.ts";
import { loadLazily } from "./lazy/load-lazily.ts";
import type { MeClient, PromptsClient, PromptVersionsClient, ResourcesClient } from "./lazy/readers.ts";
import type { BatchRun, FinishedBatch, RunBatchArguments, RunBatchOptions } from "./lazy/run-batch.ts";
import type { RunsClient } from "./lazy/runs.ts";
import { randomKey } from "./random-key.ts";
import type { InputsOf, PromptName } from "./run/known-prompts.ts";
import { runPrompt, type RunPromptOptions, type RunTask } from "./run/run-prompt.ts";
import type { RawAnswer, RawRequest } from "./transport.ts";

export interface ClientOptions extends ConnectOptions {
  /** Such as `http://127.0.0.1:8787`; a `/v1` at its end is tolerated. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Hash of the model list the caller has cached: sent to the server, which says when it is out of date. */
  readonly resourcesHash?: string | undefined;
  /** Called for each answer that asks to refresh the model list (header action-require). */
  readonly onUpdateResources?: (() => void) | undefined;
  /** Replaceable for tests, as time and chance are. */
  readonly newIdempotencyKey?: (() => string) | undefined;
}

/** Inputs may only be left out where the prompt needs none. */
// oxlint-disable-next-line typescript/no-empty-object-type -- every object fits {}, also one of optional members alone
type RunArguments<Name> =
  {} extends InputsOf<Name>
    ? [options?: RunPromptOptions<Name>]
    : [options: RunPromptOptions<Name> & { readonly inputs: InputsOf<Name> }];

export interface Client {
  /**
   * Runs a prompt once and waits for its outputs, however long that takes and whatever breaks in between: after a lost
   * connection, a 429, a 504 or a restart of the server it goes on with the same run. Iterated over, it gives the events
   * of the run, with its text while it is written.
   * @param prompt a slug, a slug with a label (`slug@label`), or the id of a prompt or of a version.
   * @throws PromptdRunError when the run fails, PromptdError when the server refuses it.
   */
  run<Name extends PromptName>(prompt: Name, ...options: RunArguments<Name>): RunTask;
  /**
   * Runs a prompt once for each of up to 10,000 inputs, and waits until all have ended. The server starts them a few at a
   * time; what is started goes on when this program ends, and the same call with the same `idempotencyKey` finds it.
   * @throws PromptdError when the server refuses it; a run that fails is a result as others are.
   */
  runBatch<Name extends PromptName>(
    prompt: Name,
    runs: readonly BatchRun<Name>[],
    options?: RunBatchOptions<Name>,
  ): Promise<FinishedBatch>;
  readonly runs: RunsClient;
  readonly batches: BatchesClient;
  readonly prompts: PromptsClient;
  readonly promptVersions: PromptVersionsClient;
  readonly resources: ResourcesClient;
  readonly me: MeClient;
  /** Any endpoint of the contract with retries, and with status and headers of the answer. */
  readonly call: CallEndpoint;
  /** One request as it is: no retry, and no status is an exception. */
  request(request: RawRequest): Promise<RawAnswer>;
}

/** Whether a method gives one thing after another. */
const ON_DEMAND = {
  runs: {
    create: false,
    createAndWait: false,
    get: false,
    follow: true,
    watch: false,
    list: false,
    listAll: true,
    cancel: false,
  },
  batches: {
    create: false,
    get: false,
    list: false,
    listAll: true,
    results: true,
    resultsAsCsv: true,
    wait: false,
    cancel: false,
    resume: false,
  },
  prompts: { search: false, get: false, getBySlug: false },
  promptVersions: { get: false },
  me: { get: false, credits: false },
  resources: { get: false, getIfChanged: false },
} as const;

/**
 * The client of the promptd API for any JavaScript runtime.
 * @throws TypeError when the base URL is not an http or https address, or there is no API key.
 */
export function createClient(options: ClientOptions): Client {
  // A variable of the environment that is not set is the usual reason, and the server's 401 would not say so.
  if (!options.apiKey) refuse("apiKey", "an API key", options.apiKey);
  let resourcesHash = options.resourcesHash ?? null;
  const connection = connect<EndpointShapes>(options, {
    entries: ENDPOINTS,
    headersOf: () => ({
      authorization: `Bearer ${options.apiKey}`,
      accept: "application/json",
      ...(resourcesHash !== null && { "cli-agent": `resources_hash=${resourcesHash}` }),
    }),
    onAnswer: ({ headers }) => {
      if (headers.get("action-require") === "update-resources") options.onUpdateResources?.();
    },
  });
  const parts: ClientContext = {
    ...connection,
    newIdempotencyKey: options.newIdempotencyKey ?? randomKey,
  };
  const run = (prompt: string, given: RunPromptOptions = {}) => runPrompt(parts, prompt, given);
  const load = async () =>
    (await import("./lazy/clients.ts")).createLazyClients(parts, (hash) => (resourcesHash = hash));
  return {
    request: connection.send,
    call: connection.call,
    run: run as Client["run"], // what the types of one prompt say means nothing to the wire
    runBatch: async (...given) => (await import("./lazy/clients.ts")).runBatch(parts, given as RunBatchArguments),
    ...loadLazily(load, ON_DEMAND),
  };
}
