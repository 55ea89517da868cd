/**
 * Finds model servers: on this machine (Ollama, llama.cpp, vLLM), and at an OPENAI_BASE_URL that is not OpenAI's own,
 * with or without a key. Each is asked for its list of models; anything that does not return one is not a model server.
 */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isLoopback } from "../../platform/config/config.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { FoundModel, FoundServer } from "./enabled-models-store.ts";
import { compatible } from "../providers/openai-compatible.ts";
import { LOCAL_PROVIDER, providerOf } from "../providers/all-providers.ts";
import { openai } from "../providers/openai.ts";
import { openAiList, type ListRequest } from "../providers/provider.ts";
import { compatibleEndpoint, resolveEndpoint, type ReadSecret } from "../providers/provider-endpoint.ts";
import { isPlainObject, parseJson, type PlainObject } from "../../platform/json.ts";

export interface ProbeOptions {
  readonly secret: ReadSecret;
  /** False: only OPENAI_BASE_URL is probed. On by default only if the API listens on loopback. */
  readonly localModels: boolean;
  /** The API's own port: probing ourselves would find nothing and could loop. */
  readonly ownPort: number;
  /** True: provider model lists are requested once, and models that are no longer listed are logged. */
  readonly hasListCheck?: boolean;
  /** For tests: other hosts than the usual ones. */
  readonly localHosts?: readonly string[];
}

/** Ollama, llama.cpp, vLLM. */
const LOCAL_HOSTS = ["127.0.0.1:11434", "127.0.0.1:8080", "127.0.0.1:8000"];
/** Bounds for a model list. OpenRouter's has about 400 models with descriptions, almost a megabyte. */
const LOCAL_BOUNDS = { timeoutMs: 300, bytesMax: 65_536, modelsMax: 50 };
const REMOTE_BOUNDS = { timeoutMs: 5_000, bytesMax: 4_194_304, modelsMax: 1_000 };

interface ServerToAsk {
  readonly provider: FoundServer["provider"];
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly bounds: typeof LOCAL_BOUNDS;
}

/** Returns every model of every server that answers now; if several offer an id, the first one wins. */
export async function findModels(options: ProbeOptions, entries: readonly CatalogueEntry[]): Promise<FoundModel[]> {
  const servers = serversToAsk(options);
  const lists = await Promise.all(servers.map(async (server) => ({ server, ids: await listModels(server) })));
  const found = new Map<string, FoundModel>();
  for (const { server, ids } of lists) {
    for (const id of ids) {
      const model = describe(server, id, entries);
      if (model !== null && !found.has(model.model)) found.set(model.model, model);
    }
  }
  return [...found.values()];
}

function serversToAsk({ secret, localModels, ownPort, localHosts = LOCAL_HOSTS }: ProbeOptions): ServerToAsk[] {
  const named = compatibleEndpoint(secret);
  const remote: ServerToAsk[] = named === null ? [] : [{ provider: compatible.id, ...named, bounds: REMOTE_BOUNDS }];
  const taken = named === null ? null : new URL(named.baseUrl).host;
  const ollama = loopbackHost(secret("OLLAMA_HOST"));
  const hosts = localModels ? new Set([...(ollama === null ? [] : [ollama]), ...localHosts]) : new Set<string>();
  const local = [...hosts]
    .filter((host) => host !== taken && Number(new URL(`http://${host}`).port || 80) !== ownPort)
    .map((host): ServerToAsk => ({
      provider: LOCAL_PROVIDER,
      baseUrl: `http://${host}/v1`,
      apiKey: null,
      bounds: LOCAL_BOUNDS,
    }));
  return [...remote, ...local];
}

/** OLLAMA_HOST is `host`, `host:port`, or an address; anything that is not this machine is ignored. */
function loopbackHost(text: string | null): string | null {
  if (text === null) return null;
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url === null || !isLoopback(url.hostname)) return null;
  return url.port === "" ? `${url.hostname}:11434` : url.host;
}

/** Segments must start with a letter or digit: no `../`, and no invisible characters in lists. */
const PROVIDER_MODEL = /^[A-Za-z0-9][\w.:-]*(\/[A-Za-z0-9][\w.:-]*)*$/;

function describe(found: ServerToAsk, id: string, entries: readonly CatalogueEntry[]): FoundModel | null {
  if (found.provider === compatible.id) {
    const known = entries.find(
      (entry) => entry.provider === openai.id && entry.modality === "text" && entry.providerModel === id,
    );
    if (known !== undefined) return known.status === "retired" ? null : { model: known.model, server: null };
  }
  const model = `${found.provider}/${id.toLowerCase()}`;
  if (!PROVIDER_MODEL.test(id) || model.length > 100) return null;
  const { provider, baseUrl, apiKey } = found;
  return { model, server: { provider, baseUrl, providerModel: id, isKeyed: apiKey !== null } };
}

/** Returns the ids that a server offers; none if it does not respond in time, or with anything but a list. */
async function listModels(server: ServerToAsk): Promise<string[]> {
  const body = await get(openAiList(server), server.bounds);
  const ids = body === null ? null : readIds(body, server);
  return (ids ?? []).filter((id) => !id.toLowerCase().includes("embed")).slice(0, server.bounds.modelsMax);
}

function readIds(body: string, { provider }: ServerToAsk): string[] | null {
  const list = parseJson(body);
  if (!isPlainObject(list)) return null; // some other kind of server uses this port
  const { object, data } = list;
  // OpenRouter does not label its response as a list; a server found by probing must.
  const isList = object === "list" || (object === undefined && provider === compatible.id);
  if (!isList || !Array.isArray(data)) return null;
  return data.flatMap((item: unknown) => {
    const id = isPlainObject(item) ? item["id"] : null;
    return typeof id === "string" && id.length <= 200 ? [id] : [];
  });
}

/** What a provider's own list says about the entries that this process has a key for. */
export interface ListedModels {
  readonly provider: string;
  /** False: the provider returned no list. */
  readonly isRead: boolean;
  /** Entries that are not retired here but not in the list. */
  readonly missing: readonly string[];
  /** Entries whose end date the list names (OpenAI's does), with the day, unless the entry already has that day. */
  readonly ending: readonly string[];
}

/** Asks every provider that has a list and a key here. This never changes what is enabled: a list may be wrong. */
export async function askForLists(entries: readonly CatalogueEntry[], secret: ReadSecret): Promise<ListedModels[]> {
  const living = entries.filter(({ status, origin }) => status !== "retired" && origin !== "detected");
  const byProvider = Map.groupBy(living, ({ provider }) => provider);
  const lists = [...byProvider].map(async ([provider, own]): Promise<ListedModels[]> => {
    const [first] = own;
    const { modelList } = providerOf(provider);
    const endpoint = first === undefined ? null : resolveEndpoint(first, secret);
    if (endpoint === null || endpoint.apiKey === null || modelList === null) return [];
    const body = await get(modelList(endpoint), REMOTE_BOUNDS);
    const listed = body === null ? null : readListed(body);
    if (listed === null) return [{ provider, isRead: false, missing: [], ending: [] }];
    const missing = own.filter(({ providerModel }) => !listed.has(providerModel)).map(({ model }) => model);
    const ending = own.flatMap(({ model, providerModel, retiresAt }) => {
      const day = listed.get(providerModel) ?? null;
      return day === null || day === retiresAt ? [] : [`${model} on ${day}`];
    });
    return [{ provider, isRead: true, missing, ending }];
  });
  return (await Promise.all(lists)).flat();
}

/** Maps each id to the day it ends, or null if the list names none. Null: not a list. */
function readListed(body: string): Map<string, string | null> | null {
  const list = parseJson(body);
  const { data, models } = isPlainObject(list) ? list : ({} as PlainObject);
  const items: unknown = data ?? models ?? list; // Together returns the bare list
  if (!Array.isArray(items)) return null;
  return new Map(
    items.flatMap((item: unknown) => {
      const { id, name, shutdown_date: day } = (item ?? {}) as Record<string, unknown>;
      const known = typeof id === "string" ? id : name;
      if (typeof known !== "string") return [];
      return [[known.replace(/^models\//, ""), typeof day === "string" ? day : null] as const];
    }),
  );
}

/**
 * Null: no usable response. A foreign server may trickle or flood, so total time and size are bounded. Redirects are not
 * followed: that would send the key elsewhere.
 */
function get({ url, headers }: ListRequest, bounds: typeof LOCAL_BOUNDS): Promise<string | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(bounds.timeoutMs);
    const request = url.startsWith("https:") ? requestHttps : requestHttp;
    const sent = request(url, { signal, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > bounds.bytesMax) sent.destroy();
        else chunks.push(chunk);
      });
      answer.on("end", () => resolve(answer.statusCode === 200 ? Buffer.concat(chunks).toString("utf8") : null));
      answer.on("error", () => resolve(null));
      answer.on("close", () => resolve(null));
    });
    sent.on("error", () => resolve(null));
    sent.end();
  });
}
