/** What calls of all modalities have in common. */
import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { GuardedFetch, Spool } from "../../files/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { ReadSecret } from "../providers/provider-endpoint.ts";
import type { Mapping } from "../catalogue/option-mapping.ts";
import { ALL_PROVIDERS, providerOf } from "../providers/all-providers.ts";
import type { FeaturedModel, ModelSource, ProviderEndpoint, TextFeatures } from "../providers/provider.ts";
import type { createTransport, FetchLimits, Transport } from "../providers/transport.ts";
import type { ModelCall } from "./model-adapter.ts";
import { withReadableUsage } from "./readable-usage.ts";

export interface AdapterOptions {
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly log: Log;
  /** For files that a provider links to: never with the provider's credentials. */
  readonly download: GuardedFetch;
  /** Where videos are written as they arrive. */
  readonly spool: Spool;
  /** The longest deadline of any call, so that connection idle timers are longer. */
  readonly timeoutMsMax: number;
  /** For tests: another network. */
  readonly connect?: typeof createTransport;
}

/** What every call needs. */
export interface Adapter extends AdapterOptions {
  /** By the number of the key. An entry that changes is another object. */
  readonly languageModels: WeakMap<CatalogueEntry, Promise<LanguageModelV4>[]>;
  connectionOf(model: ProviderModel): { readonly endpoint: ProviderEndpoint; readonly transport: Transport };
}

type ProviderModel = Pick<CatalogueEntry, "provider" | "server">;

/** What a provider's file needs to create a model object. @param call null: to poll a started video, or to embed texts. */
export function sourceOf(
  adapter: Adapter,
  model: ProviderModel & Pick<CatalogueEntry, "providerModel"> & Partial<Pick<CatalogueEntry, "api" | "modality">>,
  { call, key = call?.key ?? 0, ...limits }: FetchLimits & { readonly call: ModelCall | null; readonly key?: number },
): ModelSource {
  const { provider, providerModel, api, modality } = model;
  const { endpoint, transport } = adapter.connectionOf(model);
  const { refusals, jobs } = providerOf(provider);
  const within = transport.fetchWithin(limits);
  const noteUnreadable = () =>
    adapter.log.warn({ provider, providerModel }, "a response has unreadable token counts: they are estimated");
  const fetch = jobs === null ? withReadableUsage(within, noteUnreadable) : within; // job usage comes from the catalogue
  const hidesRefusals = refusals !== null && modality !== undefined && refusals.modalities.includes(modality);
  return {
    provider,
    providerModel,
    api,
    endpoint: { ...endpoint, apiKey: endpoint.apiKeys[key] ?? endpoint.apiKey },
    clock: adapter.clock,
    fetch: hidesRefusals ? async (input, init) => refusals.read(await fetch(input, init)) : fetch,
    call: call === null ? null : { ...call, model: call.entry.model },
  };
}

/** For a response with a file, a file's address, or the vectors of many texts. */
export const FILE_ANSWER_BYTES_MAX = 67_108_864;

/** Null for a provider without text models. */
export function featuresOf(model: FeaturedModel): TextFeatures | null {
  return providerOf(model.provider).textFeatures?.(model) ?? null;
}

/** The settings that the model accepts now: it or its provider may have changed since the prompt was published. */
export function textSettings({ settings = {}, entry, mapping }: ModelCall) {
  const features = featuresOf(entry);
  if (features === null) return {};
  const { temperature, topP, seed, stop } = settings;
  const isFixed = !features.whileReasoning && (mapping.reasoning ?? "none") !== "none";
  const max = isFixed ? null : features.temperatureMax;
  return {
    ...(temperature === undefined || max === null ? {} : { temperature: Math.min(temperature, max) }),
    ...(topP === undefined || !features.topP || isFixed ? {} : { topP }),
    ...(seed === undefined || !features.seed ? {} : { seed }),
    ...(stop === undefined || features.stopMax === 0 ? {} : { stopSequences: stop.slice(0, features.stopMax) }),
  };
}

type SchemaCall = Pick<ModelCall, "instructions" | "outputSchema"> & { readonly entry: FeaturedModel };

export function hasNativeSchema({ outputSchema, entry }: SchemaCall): boolean {
  return outputSchema !== undefined && featuresOf(entry)?.schema === "native";
}

/** The instructions, with the schema if the provider cannot be given it any other way. */
export function wholeInstructions(call: SchemaCall): string {
  const { instructions, outputSchema } = call;
  if (outputSchema === undefined || hasNativeSchema(call)) return instructions;
  const instruction = `Answer with JSON alone, without any other text. It must fit this JSON Schema:\n${JSON.stringify(outputSchema)}`;
  return instructions === "" ? instruction : `${instructions}\n\n${instruction}`;
}

export function sharedSettings(call: ModelCall, signal: AbortSignal) {
  return {
    maxRetries: 0, // the SDK would retry without jitter, even after a timeout that may have been billed
    abortSignal: signal,
    headers: { "idempotency-key": call.idempotencyKey },
    providerOptions: providerOptionsOf(call) as SharedV4ProviderOptions,
  };
}

function providerOptionsOf({ mapping, entry, outputSchema }: ModelCall): NonNullable<Mapping["providerOptions"]> {
  const options = mapping.providerOptions ?? {};
  const schemaOptions = featuresOf(entry)?.schemaOptions ?? null;
  if (outputSchema === undefined || schemaOptions === null) return options;
  return { ...options, [entry.provider]: { ...options[entry.provider], ...schemaOptions(outputSchema) } };
}

export function wholePrompt({ instructions, prompt }: Pick<ModelCall, "instructions" | "prompt">): string {
  return instructions === "" ? prompt : `${instructions}\n\n${prompt}`;
}

/** Servers forward each other's headers, so the header of every provider is checked. */
const REQUEST_ID_HEADERS = ALL_PROVIDERS.flatMap(({ requestIdHeader }) => requestIdHeader ?? []);

export function requestId(headers: Readonly<Record<string, string>> | undefined): string | null {
  const [id = null] = REQUEST_ID_HEADERS.flatMap((name) => headers?.[name] ?? []);
  return id === null ? null : id.slice(0, 128);
}

/** The SDK rounds values that a model does not support and only warns about it: the catalogue is then wrong. */
export function logWarnings(
  adapter: Adapter,
  entry: CatalogueEntry,
  warnings: readonly { readonly type: string }[],
): void {
  for (const warning of warnings) {
    const feature = "feature" in warning ? warning.feature : null;
    adapter.log.warn(
      { model: entry.model, warning: warning.type, feature },
      "the SDK changed or dropped a setting of a call",
    );
  }
}
