import type { EndpointShapes, PromptVersion, Resources, SearchResult, SlugVersion } from "@promptd/contract";
import type { Ask } from "../call-endpoint.ts";
import type { CallOptions } from "./runs.ts";

export interface PromptsClient {
  search(q: string, options?: CallOptions): Promise<SearchResult>;
  /** The latest published version, unless `versionId` names another. */
  get(promptId: string, options?: CallOptions & { readonly versionId?: string | undefined }): Promise<PromptVersion>;
  /** The version that a slug refers to: the latest version, or the version with a label such as `production`. */
  getBySlug(slug: string, options?: CallOptions & { readonly label?: string | undefined }): Promise<SlugVersion>;
}

export interface PromptVersionsClient {
  get(promptVersionId: string, options?: CallOptions): Promise<PromptVersion>;
}

export interface MeClient {
  get(options?: CallOptions): Promise<EndpointShapes["getMe"]["data"]>;
  credits(options?: CallOptions): Promise<EndpointShapes["getCredits"]["data"]>;
}

export interface ResourcesClient {
  get(options?: CallOptions): Promise<Resources>;
  /** @returns null if the list still has this hash. */
  getIfChanged(hash: string, options?: CallOptions): Promise<Resources | null>;
}

export function createPromptsClient(ask: Ask): PromptsClient {
  return {
    search: (q, { signal } = {}) => ask("searchPrompts", { query: { q }, signal }),
    get: (promptId, { signal, versionId } = {}) =>
      ask("getPrompt", { params: { promptId }, query: { versionId }, signal }),
    getBySlug: (slug, { signal, label } = {}) => ask("resolveSlug", { params: { slug }, query: { label }, signal }),
  };
}

export function createPromptVersionsClient(ask: Ask): PromptVersionsClient {
  return {
    get: (promptVersionId, { signal } = {}) => ask("getPromptVersion", { params: { promptVersionId }, signal }),
  };
}

export function createMeClient(ask: Ask): MeClient {
  return {
    get: ({ signal } = {}) => ask("getMe", { signal }),
    credits: ({ signal } = {}) => ask("getCredits", { signal }),
  };
}

/** @param remember stores the hash, which later requests send. */
export function createResourcesClient(ask: Ask, remember: (hash: string) => void): ResourcesClient {
  const get = async ({ signal }: CallOptions = {}, headers?: Record<string, string>): Promise<Resources> => {
    const data = await ask("getResources", { headers, signal });
    // A 304 has no body; the call returns null for it, although the endpoint's type does not say so.
    if ((data as Resources | null) !== null) remember(data.hash);
    return data;
  };
  return {
    get: (options) => get(options),
    getIfChanged: async (hash, options) => {
      const data: Resources | null = await get(options, { "if-none-match": `"${hash}"` });
      if (data === null) remember(hash);
      return data;
    },
  };
}
