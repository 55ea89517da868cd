import type { ServerResponse } from "node:http";
import type { CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import type { AdapterOptions } from "../../src/models/ai-sdk/call-settings.ts";
import type { ModelImage } from "../../src/models/providers/jobs.ts";
import { createTransport, type TransportOptions } from "../../src/models/providers/transport.ts";
import { callOf, createRig, entryOf, isJob } from "./adapter-rig.ts";
import { startOwnServer, type Received } from "./own-server.ts";

export type Reply = (request: Received, response: ServerResponse, url: string) => void;

/** OPENAI_BASE_URL for a server that is neither OpenAI's nor OpenRouter's, and for OpenRouter's. */
export const ELSEWHERE = "https://models.example/v1";
export const OPENROUTER = "https://openrouter.ai/api/v1";

/** A replaced OpenAI address is asked in the chat interface, Responses only at OpenAI's own: led here below the adapter. */
const LED_HERE = ["https://api.openai.com", new URL(ELSEWHERE).origin, new URL(OPENROUTER).origin];

/** An adapter for which every provider is at one test server. @param settings besides the keys, which are all set. */
export async function openAllProviders(
  reply: Reply,
  settings: Readonly<Record<string, string>> = {},
  change: Partial<AdapterOptions> = {},
) {
  const server = await startOwnServer((request, response) => reply(request, response, server.url));
  const secrets = {
    ANTHROPIC_BASE_URL: server.url,
    GOOGLE_GENERATIVE_AI_BASE_URL: server.url,
    FAL_BASE_URL: server.url,
    REPLICATE_BASE_URL: server.url,
    ...settings,
  };
  const led = LED_HERE.map((origin) => [origin, server.url] as const);
  const rig = createRig(secrets, {
    connect: (options) => createTransport({ ...options, aliases: aliasesTo(options, led) }),
    ...change,
  });
  /** For queued jobs: started, and polled once. */
  const send = async (model: string | CatalogueEntry, images: readonly ModelImage[] = []) => {
    const call = callOf(typeof model === "string" ? entryOf(model) : model, { images });
    if (!isJob(call.entry)) return rig.adapter.callModel(call, rig.signal);
    const started = await rig.adapter.startJob(call, rig.signal);
    return started.kind === "started" ? rig.pollJob({ call, operation: started.operation }) : started;
  };
  return { ...rig, server, send };
}

/** A provider's aliases, and others that lead to the test server. */
export function aliasesTo(
  { aliases }: TransportOptions,
  led: Iterable<readonly [origin: string, url: string]>,
): NonNullable<TransportOptions["aliases"]> {
  return { origins: new Map([...(aliases?.origins ?? []), ...led]), header: aliases?.header ?? "x-led" };
}
