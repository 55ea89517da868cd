import { createClient, type Client } from "@promptd/client";
import { createManageClient, type ManageClient } from "@promptd/client/manage";
import { readCatalogueCache, refreshCatalogue } from "./catalogue-cache.ts";
import { CommandFailure, type CommandIo } from "./command.ts";
import { noteAbove } from "./terminal/status-line.ts";
import { describeMissingSecret, readConnection } from "./user-config.ts";

export interface Session {
  readonly client: Client;
  readonly baseUrl: string;
}

/**
 * Does the work of one end-user command with a client for the configured server. If a response says that the cached
 * model list is out of date, it is fetched again afterwards.
 * @throws CommandFailure when no key is set or the URL is not valid.
 */
export async function withSession<Result>(io: CommandIo, work: (session: Session) => Promise<Result>): Promise<Result> {
  const connection = await readConnection(io.env);
  const { url, apiKey } = connection;
  if (apiKey === null) throw describeMissingSecret("apiKey", connection);
  const cached = await readCatalogueCache(io.env, url);
  let isStale = false;
  const client = orBadAddress(() =>
    createClient({
      baseUrl: url,
      apiKey,
      fetch: io.fetch,
      resourcesHash: cached?.hash,
      onUpdateResources: () => (isStale = true),
      onWarning: (message) => noteAbove(io, message),
    }),
  );
  const result = await work({ client, baseUrl: url });
  if (isStale) await refreshQuietly(client, io, url);
  return result;
}

/**
 * Like `withSession`, with the management API client and the management token.
 * @throws CommandFailure when no token is set or the URL is not valid.
 */
export async function withManagement<Result>(
  io: CommandIo,
  work: (manage: ManageClient, baseUrl: string) => Promise<Result>,
): Promise<Result> {
  const connection = await readConnection(io.env);
  const { url, token } = connection;
  if (token === null) throw describeMissingSecret("token", connection);
  const onWarning = (message: string): void => noteAbove(io, message);
  return work(
    orBadAddress(() => createManageClient({ baseUrl: url, token, fetch: io.fetch, onWarning })),
    url,
  );
}

export function orBadAddress<Made>(make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandFailure(error.message, {
      hint: 'Set it with "promptd config set url <url>", or in the environment variable PROMPTD_URL.',
      cause: error,
    });
  }
}

/** The command already has its result. If the refresh fails, the next command tries again. */
async function refreshQuietly(client: Client, io: CommandIo, url: string): Promise<void> {
  try {
    await refreshCatalogue(client, io, url);
  } catch (error) {
    io.note(`The cached model list could not be refreshed: ${error instanceof Error ? error.message : String(error)}`);
  }
}
