/** What promptd knows of a provider: one object of this type per provider, each in its own file. */
import type {
  EmbeddingModelV4,
  Experimental_VideoModelV4 as VideoModelV4,
  ImageModelV4,
  LanguageModelV4,
} from "@ai-sdk/provider";
import type { Modality } from "@promptd/contract";
import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { PROVIDER_KEYS, SETTINGS } from "../../platform/config/settings.ts";
import type { JsonObject } from "../../platform/json.ts";
import { memberOf, parseOwn, type JobInterface } from "./jobs.ts";
import type { SandboxRequest } from "../sandbox/sandbox-provider.ts";

/** A part that a provider does not have is null, so that nobody forgets one. */
export interface Provider {
  /** The first part of its models' names. */
  readonly id: string;
  /** Null: it needs no key, and no address of it can be set. */
  readonly settings: ProviderSettings | null;
  /** Null: it is not reached over a network. */
  readonly address: ProviderAddress | null;
  /** Interfaces for text that a catalogue entry must choose from. Null: it has one, which entries do not name. */
  readonly apis: readonly ("responses" | "chat")[] | null;
  /**
   * True when this process makes up the answers, as the prompt asks: the prompt shows in them, and how calls end says
   * nothing about a model.
   */
  readonly isSimulated: boolean;
  /** The SDK's model objects; null also where `jobs` makes it. Videos must have start and status: a crash must not pay twice. */
  readonly models: { readonly [Name in Modality]: ((source: ModelSource) => Promise<Models[Name]>) | null };
  /** What its models for text take beside a prompt. Null: it has none. */
  readonly textFeatures: ((model: FeaturedModel) => TextFeatures) | null;
  /** How its models search the web while they answer. Null: by none of the interfaces used here. */
  readonly webSearch: WebSearch | null;
  /** `needs`: settings of which one must be set. Null: it makes none. */
  readonly embeddings: {
    readonly model: (source: ModelSource) => Promise<EmbeddingModelV4>;
    readonly needs: readonly (ProviderSettings["key"] | ProviderSettings["baseUrl"])[];
  } | null;
  /** How the list of its models is asked for. Null: it has none that names what catalogue entries name. */
  readonly modelList: ((endpoint: Pick<ProviderEndpoint, "baseUrl" | "apiKey">) => ListRequest) | null;
  /** Its own interface for pictures and videos that it makes in a queue, in place of the SDK's. Null: it has none. */
  readonly jobs: JobInterface | null;
  /** How a started job is stopped, which the SDK does not know. Null: there is no such request. */
  readonly cancel: ((job: StartedJob) => CancelRequest | "not-needed" | null) | null;
  readonly failures: FailureWords;
  /** Turns an answer that hides a refusal from the SDK into an error that shows it. Null: none does. */
  readonly refusals: {
    readonly modalities: readonly Modality[];
    readonly read: (answer: Response) => Promise<Response>;
  } | null;
  /** Header with the number that the provider's support asks for. */
  readonly requestIdHeader: string | null;
}

/** Names in the environment; platform/config/settings.ts lists them for the documentation. */
export interface ProviderSettings {
  readonly key: keyof typeof PROVIDER_KEYS;
  readonly baseUrl: Extract<keyof typeof SETTINGS, `${string}_BASE_URL`>;
}

export interface ProviderAddress {
  readonly baseUrl: string;
  /** Hosts that the package has written into it, and the header that names the intended one to an operator's address. */
  readonly fixed: { readonly origins: readonly string[]; readonly header: string } | null;
}

interface Models {
  readonly text: LanguageModelV4;
  readonly image: ImageModelV4;
  readonly video: VideoModelV4;
}

/** A model of a provider, and the way to it. */
export interface ModelSource {
  readonly provider: string;
  readonly providerModel: string;
  readonly api?: "responses" | "chat" | undefined;
  readonly endpoint: ProviderEndpoint;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  /** For the sandbox alone, since the SDK does not pass all of it on. Null: a started video is polled. */
  readonly call: (SandboxRequest & { readonly maxOutputTokens: number }) | null;
}

/** Where a provider is reached, and with which key. */
export interface ProviderEndpoint {
  readonly baseUrl: string;
  /** True when the operator set another address than the provider's own. */
  readonly isOverridden: boolean;
  readonly apiKey: string | null;
  /** All of them, where an operator has set several; `apiKey` is the first, or the one chosen for a call. */
  readonly apiKeys: readonly string[];
  /** Addresses that receive the key. */
  readonly origins: readonly string[];
  /** How a server that speaks the OpenAI interface differs from others. */
  readonly quirks?: OwnServer["quirks"];
  /** For a package that fixes its hosts: where each of them is found instead, and the header that names it there. */
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
      /** The member of a request that bounds its answer; absent: max_tokens. */
      outputLimit: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
      /** It takes a JSON schema for its answer. */
      hasSchemas: z.boolean().optional(),
      /** `always`: a stream ends with its usage unasked, and may be refused where it is asked for; absent: asked. */
      streamUsage: z.enum(["asked", "always"]).optional(),
    })
    .optional(),
});
/** A server of the operator's own, or a found one. */
export type OwnServer = Readonly<z.output<typeof serverSchema>>;

/** Searches that the provider makes by itself, inside of a call; no tool of ours. */
interface WebSearch {
  /** What a request says to allow it. Null: nothing can be found from this address. */
  readonly ask: (call: {
    readonly endpoint: Pick<ProviderEndpoint, "isOverridden">;
    readonly searchesMax: number;
  }) => SearchRequest | null;
  /** Searches of an answer that the provider bills. Null: it does not say. */
  readonly count: (answer: SearchedAnswer) => number | null;
}

interface SearchRequest {
  /** As the SDK names the provider's tool. Null: the model is told otherwise. */
  readonly tool: { readonly id: `${string}.${string}`; readonly args: Readonly<Record<string, number>> } | null;
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, number | boolean>>>>;
}

/** Where answers say how often was searched. */
export interface SearchedAnswer {
  readonly content: readonly {
    readonly type: string;
    readonly result?: unknown;
    readonly isError?: boolean | undefined;
  }[];
  readonly providerMetadata: unknown;
  /** The count of tokens, as the provider wrote it. */
  readonly rawUsage: unknown;
}

/** How an author wants a text to be made; checked when a prompt is published, and again before a call. */
export interface TextSettings {
  /** From 0, the most likely words, to what the model takes. */
  readonly temperature?: number | undefined;
  /** Share of the likeliest words that are drawn from, from 0 to 1. */
  readonly topP?: number | undefined;
  /** The same seed gives the same text, as far as the provider can. */
  readonly seed?: number | undefined;
  /** The text ends before the first of these. */
  readonly stop?: readonly string[] | undefined;
}

/** What models for text can be told beside their prompt. */
export interface TextFeatures {
  /** The highest temperature; null: none is taken. */
  readonly temperatureMax: number | null;
  readonly topP: boolean;
  /** False: temperature or topP, not both. */
  readonly both: boolean;
  /** False: neither of them while it reasons. */
  readonly whileReasoning: boolean;
  readonly seed: boolean;
  /** How many texts may end the answer; 0: none. */
  readonly stopMax: number;
  /** `native`: the provider holds its model to a JSON schema; `prompted`: the schema is a part of the prompt. */
  readonly schema: "native" | "prompted";
  /** What the provider is told beside a native schema. Null: nothing. */
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

/** The model, as far as features depend on it. */
export type FeaturedModel = Pick<ModelSource, "provider" | "providerModel" | "api">;

export interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** As the OpenAI interface has it. */
export function openAiList({ baseUrl, apiKey }: Pick<ProviderEndpoint, "baseUrl" | "apiKey">): ListRequest {
  return { url: `${baseUrl}/models`, headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` } };
}

export interface StartedJob {
  /** How the SDK names it; it has been in the database. */
  readonly operation: unknown;
  readonly endpoint: ProviderEndpoint;
}

export interface CancelRequest {
  readonly url: URL;
  readonly method: "POST" | "PUT";
  readonly authorization: string;
}

export type Meaning =
  /** The provider declines the content of this request. */
  | "declined"
  /** The operator's account is empty or closed. */
  | "quota"
  | "badKey"
  | "tooLong"
  /** It has no such model, or not for this account. */
  | "noModel";

/**
 * What a provider means by its words, where the HTTP status does not say it. Servers pass on each other's answers, so the
 * words of all providers are looked for in each answer (failure.ts).
 */
interface FailureWords {
  readonly answers: { readonly [Name in Meaning]?: AnswerWords };
  /** Beside those for "declined", in what is said of a job that ended badly, which is prose. */
  readonly declinedJobs: readonly RegExp[];
  /** The time after which a 429 passes, where only the body says it. */
  readonly retryDelayMs: ((body: unknown) => number | null) | null;
}

/** A body may repeat what a caller wrote, so only what the provider itself has written is read. */
interface AnswerWords {
  /** Machine-readable words, wherever the provider puts them. */
  readonly codes: readonly string[];
  /** Where no code says it: how a message begins. */
  readonly sentences?: readonly RegExp[];
}

/** What the packages have in common. An empty key: without one they would look into the environment themselves. */
export function sdkSettings({ endpoint, fetch }: ModelSource) {
  return { baseURL: endpoint.baseUrl, apiKey: endpoint.apiKey ?? "", fetch };
}

/** Whether a model's answers are started, polled and fetched, so that a crash pays for none of them twice. */
export function makesJobs({ jobs, models }: Provider, modality: Modality): boolean {
  return modality === "video" ? jobs !== null || models.video !== null : modality === "image" && jobs !== null;
}

export function makes(provider: Provider, modality: Modality): boolean {
  return provider.models[modality] !== null || makesJobs(provider, modality);
}

/**
 * The request that cancels a job: at the address that the provider named for it, else below that of its state.
 * @returns null when the address is not the provider's own, where no key may be sent.
 */
export function cancelOf(
  { operation, endpoint }: StartedJob,
  stateMember: string,
  how: { readonly method: CancelRequest["method"]; readonly scheme: string },
): CancelRequest | null {
  const named = memberOf(operation, "cancelUrl");
  const url = parseOwn(named ?? memberOf(operation, stateMember), endpoint);
  if (url === null) return null;
  if (named === undefined) url.pathname = `${url.pathname.replace(/\/response$/, "")}/cancel`;
  return { url, method: how.method, authorization: `${how.scheme} ${endpoint.apiKey ?? ""}` };
}
