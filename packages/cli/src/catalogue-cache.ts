import type { Client } from "@promptd/client";
import type { Resources } from "@promptd/contract";
import { join } from "node:path";
import type { CommandIo } from "./command.ts";
import { configDirectory, parseObject, readIfThere, writePrivately } from "./user-config.ts";

/** The model list as last received. Its hash goes with every request, so that the server can report a change. */
interface CatalogueCache {
  readonly baseUrl: string;
  readonly resources: Resources;
}

function cachePath(env: CommandIo["env"]): string {
  return join(configDirectory(env), "models.json");
}

/** @returns null when there is none for this server; a file that cannot be understood counts as none. */
export async function readCatalogueCache(env: CommandIo["env"], baseUrl: string): Promise<Resources | null> {
  const text = await readIfThere(cachePath(env));
  const value = text === null ? null : parseObject(text);
  return value?.["baseUrl"] === baseUrl && isResources(value["resources"]) ? value["resources"] : null;
}

/** The list of the server, read again only when the cached one is out of date. */
export async function refreshCatalogue(client: Client, io: CommandIo, baseUrl: string): Promise<Resources> {
  const cached = await readCatalogueCache(io.env, baseUrl);
  const options = { signal: io.signal };
  const fresh =
    cached === null ? await client.resources.get(options) : await client.resources.getIfChanged(cached.hash, options);
  if (fresh === null && cached !== null) return cached;
  const resources = fresh ?? (await client.resources.get(options));
  await writePrivately(cachePath(io.env), `${JSON.stringify({ baseUrl, resources } satisfies CatalogueCache)}\n`);
  return resources;
}

function isResources(value: unknown): value is Resources {
  if (typeof value !== "object" || value === null) return false;
  const { hash, resources } = value as { hash?: unknown; resources?: { models?: unknown } | null };
  return typeof hash === "string" && Array.isArray(resources?.models);
}
