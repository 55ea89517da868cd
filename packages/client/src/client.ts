import {
  ENDPOINTS,
  type Credits,
  type EndpointShapes,
  type Me,
  type PromptVersion,
  type Resources,
  type SearchResult,
  type SlugVersion,
} from "@promptd/contract";
import { createBatchesClient, type BatchesClient } from "./batches.ts";
import { createCallEndpoint, type CallEndpoint } from "./call-endpoint.ts";
import { delay as realDelay, type Delay } from "./delay.ts";
import { PromptdProtocolError } from "./errors.ts";
import { createFollow } from "./follow-run.ts";
import { randomKey } from "./random-key.ts";
import type { InputsOf, PromptName } from "./run/known-prompts.ts";
import { runBatch, type BatchRun, type FinishedBatch, type RunBatchOptions } from "./run/run-batch.ts";
import { runPrompt, type RunPromptOptions, type RunTask } from "./run/run-prompt.ts";
import { createRunsClient, type CallOptions, type RunsClient } from "./runs.ts";
import { createTransport, type RawAnswer, type RawRequest } from "./transport.ts";

export interface ClientOptions {
  /** Such as `http://127.0.0.1:8787`; a `/v1` at its end is tolerated. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The global fetch when absent. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** How often one call may be sent again after 429, 500 or a lost connection; 5 when absent. */
  readonly maxRetries?: number | undefined;
  /** Longest time for one answer, not counting the server's own wait for a run; 30,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Hash of the model list the caller has cached: sent to the server, which says when it is out of date. */
  readonly resourcesHash?: string | undefined;
  /** Called for each answer that asks to refresh the model list (header action-require). */
  readonly onUpdateResources?: (() => void) | undefined;
  /** Called with a sentence about a run that ignored some of what was sent; console.warn when absent. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Replaceable for tests: time, chance and names. */
  readonly delay?: Delay | undefined;
  readonly random?: (() => number) | undefined;
  readonly newIdempotencyKey?: (() => string) | undefined;
}

export interface ResourcesClient {
  get(options?: CallOptions): Promise<Resources>;
  /** @returns null when the list still has this hash. */
  getIfChanged(hash: string, options?: CallOptions): Promise<Resources | null>;
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
  readonly prompts: {
    search(q: string, options?: CallOptions): Promise<SearchResult>;
    /** The latest published version unless `versionId` names another. */
    get(promptId: string, options?: CallOptions & { readonly versionId?: string | undefined }): Promise<PromptVersion>;
    /** The version that a slug leads to: the latest, or that of a label such as `production`. */
    getBySlug(slug: string, options?: CallOptions & { readonly label?: string | undefined }): Promise<SlugVersion>;
  };
  readonly promptVersions: { get(promptVersionId: string, options?: CallOptions): Promise<PromptVersion> };
  readonly resources: ResourcesClient;
  readonly me: { get(options?: CallOptions): Promise<Me>; credits(options?: CallOptions): Promise<Credits> };
  /** Any endpoint of the contract with retries, and with status and headers of the answer. */
  readonly call: CallEndpoint;
  /** One request as it is: no retry, and no status is an exception. */
  request(request: RawRequest): Promise<RawAnswer>;
}

const MAX_RETRIES_DEFAULT = 5;
const TIMEOUT_MS_DEFAULT = 30_000;

/**
 * The client of the promptd API for any JavaScript runtime.
 * @throws TypeError when the base URL is not an http or https address.
 */
export function createClient(options: ClientOptions): Client {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS_DEFAULT;
  const delay = options.delay ?? realDelay;
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  let resourcesHash = options.resourcesHash ?? null;
  const transport = createTransport({ baseUrl: options.baseUrl, fetch, timeoutMs }, () => ({
    authorization: `Bearer ${options.apiKey}`,
    accept: "application/json",
    ...(resourcesHash === null ? {} : { "cli-agent": `resources_hash=${resourcesHash}` }),
  }));
  const request = async (raw: RawRequest): Promise<RawAnswer> => {
    const answer = await transport.send(raw);
    if (answer.headers.get("action-require") === "update-resources") options.onUpdateResources?.();
    return answer;
  };
  const policy = {
    maxRetries: options.maxRetries ?? MAX_RETRIES_DEFAULT,
    delay,
    random: options.random ?? Math.random,
  };
  const call = createCallEndpoint<EndpointShapes>(ENDPOINTS, request, policy);
  const newIdempotencyKey = options.newIdempotencyKey ?? randomKey;
  const resources = createResourcesClient(call, (hash) => (resourcesHash = hash));
  const follow = createFollow(transport.open, policy);
  // oxlint-disable-next-line eslint/no-console -- a misspelt input that was paid for must not go unseen
  const onWarning = options.onWarning ?? ((message) => console.warn(`promptd: ${message}`));
  const waiting = { call, delay, newIdempotencyKey, timeoutMs, follow, onWarning };
  const run = (prompt: string, given: RunPromptOptions = {}) => runPrompt(waiting, prompt, given);
  const batches = createBatchesClient({ call, open: transport.open, policy, newIdempotencyKey, timeoutMs });
  return {
    request,
    call,
    run: run as Client["run"], // what the types of one prompt say means nothing to the wire
    runBatch: (prompt, runs, given) => runBatch({ call, batches, newIdempotencyKey }, prompt, runs, given),
    runs: createRunsClient(waiting),
    batches,
    resources,
    ...createReaders(call),
  };
}

function createReaders(call: CallEndpoint): Pick<Client, "prompts" | "promptVersions" | "me"> {
  const nothing = { params: {}, query: {}, body: undefined } as const;
  return {
    prompts: {
      search: async (q, { signal } = {}) => (await call("searchPrompts", { ...nothing, query: { q }, signal })).data,
      get: async (promptId, { signal, versionId } = {}) =>
        (await call("getPrompt", { ...nothing, params: { promptId }, query: { versionId }, signal })).data,
      getBySlug: async (slug, { signal, label } = {}) =>
        (await call("resolveSlug", { ...nothing, params: { slug }, query: { label }, signal })).data,
    },
    promptVersions: {
      get: async (promptVersionId, { signal } = {}) =>
        (await call("getPromptVersion", { ...nothing, params: { promptVersionId }, signal })).data,
    },
    me: {
      get: async ({ signal } = {}) => (await call("getMe", { ...nothing, signal })).data,
      credits: async ({ signal } = {}) => (await call("getCredits", { ...nothing, signal })).data,
    },
  };
}

/** @param remember takes the hash that later requests name. */
function createResourcesClient(call: CallEndpoint, remember: (hash: string) => void): ResourcesClient {
  const read = async (options: CallOptions, headers: Record<string, string>): Promise<Resources | null> => {
    const { signal } = options;
    const answer = await call("getResources", { params: {}, query: {}, body: undefined, headers, signal });
    // A 304 has no body; the call gives null for it whatever the endpoint's type says.
    const data: Resources | null = answer.data;
    if (data !== null) remember(data.hash);
    return data;
  };
  return {
    get: async (options = {}) => {
      const data = await read(options, {});
      if (data !== null) return data;
      throw new PromptdProtocolError("A 304 answered a request without If-None-Match.", {
        httpStatus: 304,
        bodyStart: "",
      });
    },
    getIfChanged: async (hash, options = {}) => {
      const data = await read(options, { "if-none-match": `"${hash}"` });
      if (data === null) remember(hash);
      return data;
    },
  };
}
