import type { ServerResponse } from "node:http";
import type { CatalogueEntry } from "../../src/models/catalogue.ts";
import type { ModelImage } from "../../src/models/model-call.ts";
import { createTransport } from "../../src/models/transport.ts";
import { callOf, createRig, entryOf } from "./adapter-rig.ts";
import { startOwnServer, type Received } from "./own-server.ts";

export type Reply = (request: Received, response: ServerResponse, url: string) => void;

/** An adapter for which every provider is at one server of the test. */
export async function openAllProviders(reply: Reply) {
  const server = await startOwnServer((request, response) => reply(request, response, server.url));
  const secrets = {
    ANTHROPIC_BASE_URL: server.url,
    GOOGLE_GENERATIVE_AI_BASE_URL: server.url,
    FAL_BASE_URL: server.url,
    REPLICATE_BASE_URL: server.url,
  };
  // A replaced OpenAI address would be asked in the chat interface: Responses are led here below the adapter.
  const openai = new Map([["https://api.openai.com", server.url]]);
  const rig = createRig(secrets, {
    connect: (options) => createTransport({ ...options, aliases: new Map([...(options.aliases ?? []), ...openai]) }),
  });
  const send = (model: string | CatalogueEntry, images: readonly ModelImage[] = []) =>
    rig.adapter.callModel(callOf(typeof model === "string" ? entryOf(model) : model, { images }), rig.signal);
  return { ...rig, server, send };
}
