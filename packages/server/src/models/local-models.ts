/**
 * Finds model servers: on this machine (Ollama, llama.cpp, vLLM), and at an OPENAI_BASE_URL that needs no key. They
 * are asked for their list; what does not answer exactly as the OpenAI interface does is not one of them.
 */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isLoopback } from "../platform/config.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { FoundModel, FoundServer } from "./enabled-models-store.ts";
import { completeBaseUrl, type ReadSecret } from "./provider-place.ts";

export interface ProbeOptions {
  readonly secret: ReadSecret;
  /** False: only OPENAI_BASE_URL is asked. On by default only where the API listens on loopback. */
  readonly localModels: boolean;
  /** The API's own port: asking ourselves would find nothing and could loop. */
  readonly ownPort: number;
  /** In tests: other places than the usual ones. */
  readonly localHosts?: readonly string[];
}

/** Ollama, llama.cpp, vLLM. */
const LOCAL_HOSTS = ["127.0.0.1:11434", "127.0.0.1:8080", "127.0.0.1:8000"];
const LOCAL_MS = 300;
const REMOTE_MS = 3_000;
const LIST_BYTES_MAX = 65_536;
const MODELS_MAX = 50;

interface Place {
  readonly provider: FoundServer["provider"];
  readonly baseUrl: string;
  readonly timeoutMs: number;
}

/** Every model of every server that answers now; the first server that offers an id keeps it. */
export async function findModels(options: ProbeOptions, entries: readonly CatalogueEntry[]): Promise<FoundModel[]> {
  const places = listPlaces(options);
  const lists = await Promise.all(places.map(async (place) => ({ place, ids: await listModels(place) })));
  const found = new Map<string, FoundModel>();
  for (const { place, ids } of lists) {
    for (const id of ids) {
      const model = describe(place, id, entries);
      if (model !== null && !found.has(model.model)) found.set(model.model, model);
    }
  }
  return [...found.values()];
}

function listPlaces({ secret, localModels, ownPort, localHosts = LOCAL_HOSTS }: ProbeOptions): Place[] {
  const given = secret("OPENAI_BASE_URL");
  const isKeyless = given !== null && secret("OPENAI_API_KEY") === null;
  const remote: Place[] = isKeyless
    ? [{ provider: "compatible", baseUrl: completeBaseUrl(given, "https://api.openai.com/v1"), timeoutMs: REMOTE_MS }]
    : [];
  const taken = given === null ? null : URL.parse(given)?.host;
  const ollama = loopbackHost(secret("OLLAMA_HOST"));
  const hosts = localModels ? new Set([...(ollama === null ? [] : [ollama]), ...localHosts]) : new Set<string>();
  const local = [...hosts]
    .filter((host) => host !== taken && Number(new URL(`http://${host}`).port || 80) !== ownPort)
    .map((host): Place => ({ provider: "local", baseUrl: `http://${host}/v1`, timeoutMs: LOCAL_MS }));
  return [...remote, ...local];
}

/** OLLAMA_HOST is written as `host`, `host:port` or an address; anything that is not this machine is left alone. */
function loopbackHost(text: string | null): string | null {
  if (text === null) return null;
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url === null || !isLoopback(url.hostname.replaceAll(/[[\]]/g, ""))) return null;
  return url.port === "" ? `${url.hostname}:11434` : url.host;
}

function describe(place: Place, id: string, entries: readonly CatalogueEntry[]): FoundModel | null {
  if (place.provider === "compatible") {
    const known = entries.find(
      (entry) => entry.provider === "openai" && entry.modality === "text" && entry.providerModel === id,
    );
    if (known !== undefined) return known.status === "retired" ? null : { model: known.model, server: null };
  }
  const model = `${place.provider}/${id.toLowerCase()}`;
  if (!/^[a-z0-9][a-z0-9._/:-]{0,99}$/.test(model)) return null;
  return { model, server: { provider: place.provider, baseUrl: place.baseUrl, providerModel: id } };
}

/** Ids a server offers; none when it does not answer in time, or answers anything but a list. */
async function listModels(place: Place): Promise<string[]> {
  const body = await get(`${place.baseUrl}/models`, place.timeoutMs);
  const ids = body === null ? null : readIds(body);
  return (ids ?? []).filter((id) => !id.toLowerCase().includes("embed")).slice(0, MODELS_MAX);
}

function readIds(body: string): string[] | null {
  let list: unknown;
  try {
    list = JSON.parse(body);
  } catch {
    return null; // some other server lives at this port
  }
  if (typeof list !== "object" || list === null) return null;
  const { object, data } = list as Record<string, unknown>;
  if (object !== "list" || !Array.isArray(data)) return null;
  return data.flatMap((item: unknown) => {
    const id = typeof item === "object" && item !== null ? (item as Record<string, unknown>)["id"] : null;
    return typeof id === "string" && id.length <= 200 ? [id] : [];
  });
}

/** Null: no usable answer. A foreign server may trickle or flood, so time and size are bounded as a whole. */
function get(url: string, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const request = url.startsWith("https:") ? requestHttps : requestHttp;
    const sent = request(url, { signal, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > LIST_BYTES_MAX) sent.destroy();
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
