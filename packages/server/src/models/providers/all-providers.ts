import { anthropic } from "./anthropic.ts";
import { compatible } from "./openai-compatible.ts";
import { fal } from "./fal.ts";
import { google } from "./google.ts";
import { openai } from "./openai.ts";
import type { Provider } from "./provider.ts";
import { replicate } from "./replicate.ts";
import { sandbox } from "./sandbox.ts";

/** Providers that the shipped catalogue may name. */
export const BUILT_IN_PROVIDERS: readonly Provider[] = [sandbox, openai, anthropic, google, fal, replicate];
export const ALL_PROVIDERS: readonly Provider[] = [...BUILT_IN_PROVIDERS, compatible];

/** The provider of models found on this machine. */
export const LOCAL_PROVIDER = "local";

/** Names that an operator's own server cannot use. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([...ALL_PROVIDERS.map(({ id }) => id), LOCAL_PROVIDER]);

/** Any other name belongs to an OpenAI-compatible server. */
export function providerOf(id: string): Provider {
  return BUILT_IN_PROVIDERS.find((provider) => provider.id === id) ?? compatible;
}
