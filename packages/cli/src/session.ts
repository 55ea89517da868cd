import { createClient, type Client } from "@promptd/client";
import { readCatalogueCache, refreshCatalogue } from "./catalogue-cache.ts";
import { CommandFailure, type CommandIo } from "./command.ts";
import { readConnection } from "./user-config.ts";

export interface Session {
  readonly client: Client;
  readonly baseUrl: string;
}

/**
 * Does the work of one end-user command with a client of the configured server. When an answer said that the cached
 * model list is out of date, it is read again afterwards.
 * @throws CommandFailure when no key is set or the address is not one.
 */
export async function withSession<Result>(io: CommandIo, work: (session: Session) => Promise<Result>): Promise<Result> {
  const { url, apiKey } = await readConnection(io.env);
  if (apiKey === null) {
    throw new CommandFailure("No API key is set.", {
      hint: 'Set one with "promptd config set api-key <key>", or in the environment variable PROMPTD_API_KEY.',
    });
  }
  const cached = await readCatalogueCache(io.env, url);
  let isStale = false;
  const client = openClient({
    baseUrl: url,
    apiKey,
    fetch: io.fetch,
    resourcesHash: cached?.hash,
    onUpdateResources: () => (isStale = true),
  });
  const result = await work({ client, baseUrl: url });
  if (isStale) await refreshQuietly(client, io, url);
  return result;
}

function openClient(options: Parameters<typeof createClient>[0]): Client {
  try {
    return createClient(options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandFailure(error.message, {
      hint: 'Set it with "promptd config set url <url>", or in the environment variable PROMPTD_URL.',
      cause: error,
    });
  }
}

/** The command has its result already: a list that could not be refreshed is tried again by the next command. */
async function refreshQuietly(client: Client, io: CommandIo, url: string): Promise<void> {
  try {
    await refreshCatalogue(client, io, url);
  } catch (error) {
    io.note(`The cached model list could not be refreshed: ${error instanceof Error ? error.message : String(error)}`);
  }
}
