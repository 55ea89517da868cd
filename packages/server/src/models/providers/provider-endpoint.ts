/** Where a provider is reached and with which key. The names of its settings stand in the provider's own file. */
import { compatible } from "./openai-compatible.ts";
import { providerOf } from "./index.ts";
import type { ProviderAddress, ProviderEndpoint, ProviderSettings, ServerQuirks } from "./provider.ts";

/** A setting or secret by its name in the environment; null: not set. */
export type ReadSecret = (name: string) => string | null;

/** A server of the operator's own, or a found one. */
export interface OwnServer {
  readonly baseURL: string;
  readonly apiKeyEnv?: string | undefined;
  readonly quirks?: ServerQuirks | undefined;
}

/** No key and no address: of the sandbox, and of a name that nobody knows. */
const NO_ENDPOINT: ProviderEndpoint = { baseUrl: "", isOverridden: false, apiKey: null, origins: [], aliases: null };

/** @param server null: the provider's usual address, or the one that the operator's settings give it. */
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
  const endpoint = { isOverridden: baseUrl !== usual, apiKey: secret(settings.key) };
  if (fixed === null) return { ...endpoint, baseUrl, origins: [baseUrl], aliases: null };
  const { origins, header } = fixed;
  const aliases = { origins: new Map(origins.map((origin) => [origin, baseUrl])), header };
  return { ...endpoint, baseUrl: usual, origins, aliases: endpoint.isOverridden ? aliases : null };
}

/**
 * Where OPENAI_BASE_URL leads, and the key for it; null: to OpenAI itself. Only this process's own setting counts: a
 * model that another process found elsewhere must not draw this one's key to an address its operator never named.
 */
export function compatibleEndpoint(secret: ReadSecret): Pick<ProviderEndpoint, "baseUrl" | "apiKey"> | null {
  const { settings, address } = compatible;
  const given = secret(settings.baseUrl);
  if (given === null || new URL(given).hostname === new URL(address.baseUrl).hostname) return null;
  return { baseUrl: completeBaseUrl(given, address.baseUrl), apiKey: secret(settings.key) };
}

function ownServer(provider: string, { baseURL, apiKeyEnv, quirks }: OwnServer, secret: ReadSecret): ProviderEndpoint {
  const baseUrl = trimSlash(baseURL);
  const apiKey = provider === compatible.id ? compatibleKey(baseUrl, secret) : ownKey(apiKeyEnv, secret);
  return { baseUrl, isOverridden: true, apiKey, origins: [baseUrl], quirks, aliases: null };
}

function compatibleKey(baseUrl: string, secret: ReadSecret): string | null {
  const named = compatibleEndpoint(secret);
  return named?.baseUrl === baseUrl ? named.apiKey : null;
}

function ownKey(name: string | undefined, secret: ReadSecret): string | null {
  return name === undefined ? null : secret(name);
}

/** An address without a path gets the provider's usual one: `http://host:11434` and `http://host:11434/v1` mean the same. */
function completeBaseUrl(given: string, usual: string): string {
  const url = new URL(given);
  if (url.pathname === "/") url.pathname = new URL(usual).pathname;
  return trimSlash(url.href);
}

function trimSlash(url: string): string {
  return url.replace(/\/+$/, "");
}
