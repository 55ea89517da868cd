/** Resolves a provider's address and keys. The names of its settings are in the provider's own file. */
import { compatible } from "./openai-compatible.ts";
import { providerOf } from "./all-providers.ts";
import type { OwnServer, ProviderAddress, ProviderEndpoint, ProviderSettings } from "./provider.ts";

/** Reads a setting or secret by its environment variable name; null: not set. */
export type ReadSecret = (name: string) => string | null;

/** No key and no address: for the sandbox, and for unknown names. */
const NO_ENDPOINT: ProviderEndpoint = {
  baseUrl: "",
  isOverridden: false,
  apiKey: null,
  apiKeys: [],
  origins: [],
  aliases: null,
};

/** @param server null: the provider's usual address, or the one in the operator's settings. */
export function resolveEndpoint(
  { provider: id, server }: { readonly provider: string; readonly server: OwnServer | null },
  secret: ReadSecret,
): ProviderEndpoint {
  if (server !== null) return ownServer(id, server, secret);
  const { id: known, settings, address } = providerOf(id);
  if (known !== id || settings === null || address === null) return NO_ENDPOINT;
  return knownEndpoint(settings, address, secret);
}

function knownEndpoint(
  settings: ProviderSettings,
  { baseUrl: usual, fixed }: ProviderAddress,
  secret: ReadSecret,
): ProviderEndpoint {
  const given = secret(settings.baseUrl);
  const baseUrl = given === null ? usual : completeBaseUrl(given, usual);
  const endpoint = { isOverridden: baseUrl !== usual, ...readKeys(secret(settings.key)) };
  if (fixed === null) return { ...endpoint, baseUrl, origins: [baseUrl], aliases: null };
  const { origins, header } = fixed;
  const aliases = { origins: new Map(origins.map((origin) => [origin, baseUrl])), header };
  return { ...endpoint, baseUrl: usual, origins, aliases: endpoint.isOverridden ? aliases : null };
}

/**
 * The address of OPENAI_BASE_URL and its key; null: OpenAI itself. Only this process's own setting counts: a model that
 * another process found elsewhere must not send this process's key to an address that its operator never named.
 */
export function compatibleEndpoint(
  secret: ReadSecret,
): Pick<ProviderEndpoint, "baseUrl" | "apiKey" | "apiKeys"> | null {
  const { settings, address } = compatible;
  const given = secret(settings.baseUrl);
  if (given === null || new URL(given).hostname === new URL(address.baseUrl).hostname) return null;
  return { baseUrl: completeBaseUrl(given, address.baseUrl), ...readKeys(secret(settings.key)) };
}

function ownServer(provider: string, { baseURL, apiKeyEnv, quirks }: OwnServer, secret: ReadSecret): ProviderEndpoint {
  const baseUrl = trimSlash(baseURL);
  const keys = provider === compatible.id ? compatibleKeys(baseUrl, secret) : readKeys(ownKey(apiKeyEnv, secret));
  return { baseUrl, isOverridden: true, ...keys, origins: [baseUrl], quirks, aliases: null };
}

type Keys = Pick<ProviderEndpoint, "apiKey" | "apiKeys">;

/** Several keys are separated by commas, which no provider uses in keys. */
function readKeys(setting: string | null): Keys {
  const apiKeys = (setting ?? "")
    .split(",")
    .map((key) => key.trim())
    .filter((key) => key !== "");
  return { apiKey: apiKeys[0] ?? null, apiKeys };
}

function compatibleKeys(baseUrl: string, secret: ReadSecret): Keys {
  const named = compatibleEndpoint(secret);
  return named?.baseUrl === baseUrl ? { apiKey: named.apiKey, apiKeys: named.apiKeys } : readKeys(null);
}

function ownKey(name: string | undefined, secret: ReadSecret): string | null {
  return name === undefined ? null : secret(name);
}

/** An address without a path gets the provider's usual path: `http://host:11434` and `http://host:11434/v1` are the same. */
function completeBaseUrl(given: string, usual: string): string {
  const url = new URL(given);
  if (url.pathname === "/") url.pathname = new URL(usual).pathname;
  return trimSlash(url.href);
}

function trimSlash(url: string): string {
  return url.replace(/\/+$/, "");
}
