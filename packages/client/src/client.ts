import type { CallEndpoint } from "./call-endpoint.ts";
import type { ClientContext } from "./client-context.ts";
import { connect, type ConnectOptions } from "./connect.ts";
import { checkSecret } from "./errors.ts";
import type { BatchesClient } from "./lazy/batches.ts";
import type { LazyClients } from "./lazy/clients.ts";
import { loadLazily } from "./lazy/load-lazily.ts";
import type { MeClient, PromptsClient, PromptVersionsClient, ResourcesClient } from "./lazy/readers.ts";
import type { BatchRun, FinishedBatch, RunBatchArguments, RunBatchOptions } from "./lazy/run-batch.ts";
import type { RunsClient } from "./lazy/runs.ts";
import { randomKey } from "./random-key.ts";
import type { InputsOf, PromptName } from "./run/known-prompts.ts";
import { RUN_ENDPOINTS, type RunShapes } from "./run/run-endpoints.ts";
import type { RunPromptOptions } from "./run/run-options.ts";
import { runPrompt, type RunTask } from "./run/run-prompt.ts";
import type { RawAnswer, RawRequest } from "./transport.ts";

export interface ClientOptions extends ConnectOptions {
  /** Such as `http://127.0.0.1:8787`; a trailing `/v1` is allowed. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Hash of the caller's cached model list; the server reports when the list is out of date. */
  readonly resourcesHash?: string | undefined;
  /** Called for each response that asks to refresh the model list (header action-require). */
  readonly onUpdateResources?: (() => void) | undefined;
  /** Replaceable for tests, as time and chance are. */
  readonly newIdempotencyKey?: (() => string) | undefined;
}

/** Inputs may be omitted only if the prompt requires none. */
// oxlint-disable-next-line typescript/no-empty-object-type -- every object fits {}, also one of optional members alone
type RunArguments<Name> =
  {} extends InputsOf<Name>
    ? [options?: RunPromptOptions<Name>]
    : [options: RunPromptOptions<Name> & { readonly inputs: InputsOf<Name> }];

export interface Client {
  /**
   * Runs a prompt once and waits for its outputs, however long that takes: after a lost connection, a 429, a 504, or a
   * server restart, it continues with the same run. Iterating over the result yields the run's events, with its text
   * while the model writes it.
   * @param prompt a slug, a slug with a label (`slug@label`), or the id of a prompt or of a version.
   * @throws PromptdRunError if the run fails, PromptdError if the server rejects it.
   */
  run<Name extends PromptName>(prompt: Name, ...options: RunArguments<Name>): RunTask;
  /**
   * Runs a prompt once for each of up to 10,000 items, and waits until all runs have ended. The server starts a few at
   * a time. The batch continues when this program ends, and the same call with the same `idempotencyKey` finds it.
   * @throws PromptdError if the server rejects the batch. A failed run is a result, not an error.
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
  /** Calls any endpoint of the contract with retries; returns the response's status and headers too. */
  readonly call: CallEndpoint;
  /** Sends one request as it is: no retries, and no status throws. */
  request(request: RawRequest): Promise<RawAnswer>;
}

/** Whether a method returns an async iterator. */
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
 * Creates a client of the promptd API for any JavaScript runtime.
 * @throws TypeError if the base URL is not an http or https URL, or the API key is empty.
 */
export function createClient(options: ClientOptions): Client {
  // Usually an environment variable is not set, and the server's 401 would not say so.
  checkSecret("apiKey", options.apiKey);
  let { resourcesHash } = options;
  const connection = connect<RunShapes>(options, {
    entries: RUN_ENDPOINTS,
    headersOf: () => ({
      authorization: `Bearer ${options.apiKey}`,
      accept: "application/json",
      ...(resourcesHash && { "cli-agent": `resources_hash=${resourcesHash}` }),
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
  const load = async () => (await import("./lazy/clients.ts")).createOnDemand(parts, (hash) => (resourcesHash = hash));
  return {
    request: connection.send,
    call: async (...given) => (await load()).call(...given),
    run: run as Client["run"], // one prompt's types do not change what is sent
    runBatch: async (...given) => (await load()).runBatch(given as RunBatchArguments),
    ...loadLazily<LazyClients>(load, ON_DEMAND),
  };
}
