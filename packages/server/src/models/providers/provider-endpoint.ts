/** Where a provider is reached and with which key. No setting is read here: names are asked of the configuration. */
import type { CatalogueEntry } from "../catalogue/catalogue.ts";

/** A setting or secret by its name in the environment; null: not set. */
export type ReadSecret = (name: string) => string | null;

export interface ProviderPlace {
  readonly baseUrl: string;
  /** True when the operator set another address than the provider's own. */
  readonly isOverridden: boolean;
  readonly apiKey: string | null;
  /** Addresses that receive the key. */
  readonly origins: readonly string[];
  /** Usual origin -> the operator's address, for a package that fixes its hosts. */
  readonly aliases: ReadonlyMap<string, string>;
}

interface KnownProvider {
  readonly baseUrl: string;
  readonly baseName: string;
  readonly keyName: string;
  /** Hosts that the package has written into it. */
  readonly fixedOrigins?: readonly string[];
}

const OPENAI_HOST = "api.openai.com";

const KNOWN: Readonly<Record<string, KnownProvider>> = {
  openai: { baseUrl: `https://${OPENAI_HOST}/v1`, baseName: "OPENAI_BASE_URL", keyName: "OPENAI_API_KEY" },
  anthropic: { baseUrl: "https://api.anthropic.com/v1", baseName: "ANTHROPIC_BASE_URL", keyName: "ANTHROPIC_API_KEY" },
  google: {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    baseName: "GOOGLE_GENERATIVE_AI_BASE_URL",
    keyName: "GOOGLE_GENERATIVE_AI_API_KEY",
  },
  fal: {
    baseUrl: "https://fal.run",
    baseName: "FAL_BASE_URL",
    keyName: "FAL_API_KEY",
    fixedOrigins: ["https://fal.run", "https://queue.fal.run"],
  },
  replicate: {
    baseUrl: "https://api.replicate.com/v1",
    baseName: "REPLICATE_BASE_URL",
    keyName: "REPLICATE_API_TOKEN",
  },
};

/** The place of an entry's provider; the sandbox has none. */
export function resolvePlace(entry: Pick<CatalogueEntry, "provider" | "server">, secret: ReadSecret): ProviderPlace {
  const known = KNOWN[entry.provider];
  if (entry.server !== null || known === undefined)
    return ownServer(entry.provider, entry.server ?? { baseURL: "http://127.0.0.1" }, secret);
  const override = secret(known.baseName);
  const baseUrl = override === null ? known.baseUrl : completeBaseUrl(override, known.baseUrl);
  const apiKey = secret(known.keyName);
  const isOverridden = override !== null && baseUrl !== known.baseUrl;
  const fixed = known.fixedOrigins;
  if (fixed === undefined) return { baseUrl, isOverridden, apiKey, origins: [baseUrl], aliases: new Map() };
  return {
    baseUrl: known.baseUrl,
    isOverridden,
    apiKey,
    origins: fixed,
    aliases: new Map(isOverridden ? fixed.map((origin) => [origin, baseUrl]) : []),
  };
}

/**
 * Where OPENAI_BASE_URL leads, and the key for it; null: to OpenAI itself. Only this process's own setting counts: a
 * model that another process found elsewhere must not draw this one's key to an address its operator never named.
 */
export function compatiblePlace(secret: ReadSecret): Pick<ProviderPlace, "baseUrl" | "apiKey"> | null {
  const given = secret("OPENAI_BASE_URL");
  if (given === null || new URL(given).hostname === OPENAI_HOST) return null;
  return { baseUrl: completeBaseUrl(given, `https://${OPENAI_HOST}/v1`), apiKey: secret("OPENAI_API_KEY") };
}

function ownServer(provider: string, server: NonNullable<CatalogueEntry["server"]>, secret: ReadSecret): ProviderPlace {
  const baseUrl = trimSlash(server.baseURL);
  const apiKey = provider === "compatible" ? compatibleKey(baseUrl, secret) : ownKey(server.apiKeyEnv, secret);
  return { baseUrl, isOverridden: true, apiKey, origins: [baseUrl], aliases: new Map() };
}

function compatibleKey(baseUrl: string, secret: ReadSecret): string | null {
  const named = compatiblePlace(secret);
  return named?.baseUrl === baseUrl ? named.apiKey : null;
}

function ownKey(name: string | undefined, secret: ReadSecret): string | null {
  return name === undefined ? null : secret(name);
}

/** An address without a path gets the provider's usual one: both `http://host:11434` and `…/v1` are meant alike. */
function completeBaseUrl(given: string, usual: string): string {
  const url = new URL(given);
  if (url.pathname === "/") url.pathname = new URL(usual).pathname;
  return trimSlash(url.href);
}

function trimSlash(url: string): string {
  return url.replace(/\/+$/, "");
}
