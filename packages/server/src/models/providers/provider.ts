/** What promptd knows about a provider: one object of this type per provider, each in its own file. */
import type {
  EmbeddingModelV4,
  Experimental_VideoModelV4 as VideoModelV4,
  ImageModelV4,
  LanguageModelV4,
} from "@ai-sdk/provider";
import type { Modality } from "@promptd/contract";
import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { SERVICE_KEYS } from "../../platform/config/service-keys.ts";
import type { SETTINGS } from "../../platform/config/settings.ts";
import { memberOf, type JsonObject } from "../../platform/json.ts";
import { parseOwn, type JobInterface } from "./jobs.ts";
import type { SandboxRequest } from "../sandbox/sandbox-provider.ts";

/** A part that a provider lacks is null rather than absent, so that nobody forgets one. */
export interface Provider {
  /** The first part of its models' names. */
  readonly id: string;
  /** Null: it needs no key, and its address cannot be set. */
  readonly settings: ProviderSettings | null;
  /** Null: it is not reached over a network. */
  readonly address: ProviderAddress | null;
  /** Text interfaces that a catalogue entry must choose from. Null: there is only one, which entries do not name. */
  readonly apis: readonly ("responses" | "chat")[] | null;
  /**
   * True when this process makes up the answers as the prompt directs: they show the prompt, and how calls end says
   * nothing about a model.
   */
  readonly isSimulated: boolean;
  /** The SDK's model objects; also null if `jobs` covers the modality. Videos need start and status, so that a crash does not pay twice. */
  readonly models: { readonly [Name in Modality]: ((source: ModelSource) => Promise<Models[Name]>) | null };
  /** What its text models support besides a prompt. Null: it has no text models. */
  readonly textFeatures: ((model: FeaturedModel) => TextFeatures) | null;
  /** How its models search the web while they answer. Null: not through the interfaces used here. */
  readonly webSearch: WebSearch | null;
  /** `needs`: settings of which one must be set. Null: it has no embeddings. */
  readonly embeddings: {
    readonly model: (source: ModelSource) => Promise<EmbeddingModelV4>;
    readonly needs: readonly (ProviderSettings["key"] | ProviderSettings["baseUrl"])[];
  } | null;
  /** How to request the list of its models. Null: it has no list with the names that catalogue entries use. */
  readonly modelList: ((endpoint: Pick<ProviderEndpoint, "baseUrl" | "apiKey">) => ListRequest) | null;
  /** Its own interface for queued pictures and videos, instead of the SDK's. Null: it has none. */
  readonly jobs: JobInterface | null;
  /** How to stop a started job, which the SDK does not support. Null: there is no such request. */
  readonly cancel: ((job: StartedJob) => CancelRequest | "not-needed" | null) | null;
  readonly failures: FailureWords;
  /** Turns a response that hides a refusal from the SDK into an error. Null: the provider has no such responses. */
  readonly refusals: {
    readonly modalities: readonly Modality[];
    readonly read: (answer: Response) => Promise<Response>;
  } | null;
  /** Header with the request id that the provider's support asks for. */
  readonly requestIdHeader: string | null;
}

/** Environment variable names, which platform/config documents. */
export interface ProviderSettings {
  readonly key: keyof typeof SERVICE_KEYS;
  readonly baseUrl: Extract<keyof typeof SETTINGS, `${string}_BASE_URL`>;
}

export interface ProviderAddress {
  readonly baseUrl: string;
  /** Hosts hard-coded in the package, and the header that tells an operator's address which host was meant. */
  readonly fixed: { readonly origins: readonly string[]; readonly header: string } | null;
}

interface Models {
  readonly text: LanguageModelV4;
  readonly image: ImageModelV4;
  readonly video: VideoModelV4;
}

/** A provider's model and how to reach it. */
export interface ModelSource {
  readonly provider: string;
  readonly providerModel: string;
  readonly api?: "responses" | "chat" | undefined;
  readonly endpoint: ProviderEndpoint;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  /** For the sandbox only, since the SDK does not pass everything on. Null: to poll a started video. */
  readonly call: (SandboxRequest & { readonly maxOutputTokens: number }) | null;
}

/** A provider's address and key. */
export interface ProviderEndpoint {
  readonly baseUrl: string;
  /** True when the operator set an address other than the provider's own. */
  readonly isOverridden: boolean;
  readonly apiKey: string | null;
  /** All keys, if the operator set several; `apiKey` is the first, or the one chosen for a call. */
  readonly apiKeys: readonly string[];
  /** Addresses that receive the key. */
  readonly origins: readonly string[];
  /** How an OpenAI-compatible server differs from others. */
  readonly quirks?: OwnServer["quirks"];
  /** For a package with hard-coded hosts: the address to use for each, and the header that names the original host. */
  readonly aliases: { readonly origins: ReadonlyMap<string, string>; readonly header: string } | null;
}

export const environmentName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,63}$/, "must be the name of an environment variable");

export const serverSchema = z.strictObject({
  baseURL: z
    .string()
    .refine(
      (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? "") && !/[?#]/.test(url),
      "must be an http(s) address without ? and #",
    ),
  apiKeyEnv: environmentName.optional(),
  quirks: z
    .strictObject({
      /** The request member that limits the answer; absent: max_tokens. */
      outputLimit: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
      /** True: it accepts a JSON schema for the answer. */
      hasSchemas: z.boolean().optional(),
      /** `always`: streams end with usage by default, and requesting it may be rejected; absent: requested. */
      streamUsage: z.enum(["asked", "always"]).optional(),
    })
    .optional(),
});
/** The operator's own server, or a found one. */
export type OwnServer = Readonly<z.output<typeof serverSchema>>;

/** Searches that the provider makes itself, inside a call; not a tool of ours. */
interface WebSearch {
  /** What a request needs to allow searching. Null: this address cannot search. */
  readonly ask: (call: {
    readonly endpoint: Pick<ProviderEndpoint, "isOverridden">;
    readonly searchesMax: number;
  }) => SearchRequest | null;
  /** The number of searches that the provider bills for an answer. Null: it does not say. */
  readonly count: (answer: SearchedAnswer) => number | null;
}

interface SearchRequest {
  /** The SDK's name for the provider's tool. Null: searching is requested differently. */
  readonly tool: { readonly id: `${string}.${string}`; readonly args: Readonly<Record<string, number>> } | null;
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, number | boolean>>>>;
}

/** The parts of an answer that say how many searches were made. */
export interface SearchedAnswer {
  readonly content: readonly {
    readonly type: string;
    readonly result?: unknown;
    readonly isError?: boolean | undefined;
  }[];
  readonly providerMetadata: unknown;
  /** The token counts as the provider sent them. */
  readonly rawUsage: unknown;
}

/** How an author wants text to be generated; checked when a prompt is published, and again before each call. */
export interface TextSettings {
  /** From 0, the most likely words, to the model's maximum. */
  readonly temperature?: number | undefined;
  /** The share of likeliest words to draw from, from 0 to 1. */
  readonly topP?: number | undefined;
  /** The same seed gives the same text, as far as the provider supports it. */
  readonly seed?: number | undefined;
  /** The text ends before the first of these. */
  readonly stop?: readonly string[] | undefined;
}

/** What text models support besides a prompt. */
export interface TextFeatures {
  /** The highest temperature; null: not supported. */
  readonly temperatureMax: number | null;
  readonly topP: boolean;
  /** False: either temperature or topP, not both. */
  readonly both: boolean;
  /** False: neither of them while reasoning. */
  readonly whileReasoning: boolean;
  readonly seed: boolean;
  /** The most stop texts; 0: not supported. */
  readonly stopMax: number;
  /** `native`: the provider enforces a JSON schema; `prompted`: the schema is part of the prompt. */
  readonly schema: "native" | "prompted";
  /** Provider options to send with a native schema. Null: none. */
  readonly schemaOptions: ((schema: JsonObject) => JsonObject) | null;
}

export const ALL_FEATURES: TextFeatures = {
  temperatureMax: 2,
  topP: true,
  both: true,
  whileReasoning: true,
  seed: true,
  stopMax: 4,
  schema: "native",
  schemaOptions: null,
};
export const NO_SAMPLING = { temperatureMax: null, topP: false, both: false } as const;

/** The parts of a model that features depend on. */
export type FeaturedModel = Pick<ModelSource, "provider" | "providerModel" | "api">;

export interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The model list request of the OpenAI interface. */
export function openAiList({ baseUrl, apiKey }: Pick<ProviderEndpoint, "baseUrl" | "apiKey">): ListRequest {
  return { url: `${baseUrl}/models`, headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` } };
}

export interface StartedJob {
  /** The SDK's name for the job, as read back from the database. */
  readonly operation: unknown;
  readonly endpoint: ProviderEndpoint;
}

export interface CancelRequest {
  readonly url: URL;
  readonly method: "POST" | "PUT";
  readonly authorization: string;
}

export type Meaning =
  /** The provider declines this request's content. */
  | "declined"
  /** The operator's account is empty or closed. */
  | "quota"
  | "badKey"
  | "tooLong"
  /** The provider does not have the model, or not for this account. */
  | "noModel";

/**
 * What a provider's error codes and messages mean if the HTTP status does not say it. Servers forward each other's
 * responses, so each response is checked for the words of all providers (failure.ts).
 */
interface FailureWords {
  readonly answers: { readonly [Name in Meaning]?: AnswerWords };
  /** More patterns for "declined", for the messages of failed jobs, which are prose. */
  readonly declinedJobs: readonly RegExp[];
  /** When a 429 can be retried, if only the body says it. */
  readonly retryDelayMs: ((body: unknown) => number | null) | null;
}

/** A body may repeat what a caller wrote, so only what the provider itself wrote is read. */
interface AnswerWords {
  /** Machine-readable codes, wherever the provider puts them. */
  readonly codes: readonly string[];
  /** How a message begins, if no code says it. */
  readonly sentences?: readonly RegExp[];
}

/** Settings that all packages share. The key may be empty: without one, packages would read the environment themselves. */
export function sdkSettings({ endpoint, fetch }: ModelSource) {
  return { baseURL: endpoint.baseUrl, apiKey: endpoint.apiKey ?? "", fetch };
}

/** Whether a model's answers are started, polled, and fetched, so that a crash pays for none of them twice. */
export function makesJobs({ jobs, models }: Provider, modality: Modality): boolean {
  return modality === "video" ? jobs !== null || models.video !== null : modality === "image" && jobs !== null;
}

export function makes(provider: Provider, modality: Modality): boolean {
  return provider.models[modality] !== null || makesJobs(provider, modality);
}

/**
 * The request that cancels a job, at the cancel address that the provider named, or derived from its state address.
 * @returns null if the address is not the provider's own, since the key must not be sent elsewhere.
 */
export function cancelOf(
  { operation, endpoint }: StartedJob,
  stateMember: string,
  cancel: { readonly method: CancelRequest["method"]; readonly scheme: string },
): CancelRequest | null {
  const named = memberOf(operation, "cancelUrl");
  const url = parseOwn(named ?? memberOf(operation, stateMember), endpoint);
  if (url === null) return null;
  if (named === undefined) url.pathname = `${url.pathname.replace(/\/response$/, "")}/cancel`;
  return { url, method: cancel.method, authorization: `${cancel.scheme} ${endpoint.apiKey ?? ""}` };
}
