import type { Client } from "@promptd/client";
import type { Resources } from "@promptd/contract";
import { join } from "node:path";
import type { CommandIo } from "./command.ts";
import { configDirectory, parseObject, readIfThere, writePrivately } from "./user-config.ts";

/** The model list as last received. Every request sends its hash, so that the server can report a change. */
interface CatalogueCache {
  readonly baseUrl: string;
  readonly resources: Resources;
}

function cachePath(env: CommandIo["env"]): string {
  return join(configDirectory(env), "models.json");
}

/** @returns null when no list is cached for this server. A file that cannot be read or parsed counts as missing. */
export async function readCatalogueCache(env: CommandIo["env"], baseUrl: string): Promise<Resources | null> {
  const text = await readIfThere(cachePath(env)).catch(() => null);
  const value = text === null ? null : parseObject(text);
  return value?.["baseUrl"] === baseUrl && isResources(value["resources"]) ? value["resources"] : null;
}

/** Returns the server's model list, and fetches it again only when the cached list is out of date. */
export async function refreshCatalogue(client: Client, io: CommandIo, baseUrl: string): Promise<Resources> {
  const cached = await readCatalogueCache(io.env, baseUrl);
  const options = { signal: io.signal };
  const fresh =
    cached === null ? await client.resources.get(options) : await client.resources.getIfChanged(cached.hash, options);
  if (fresh === null && cached !== null) return cached;
  const resources = fresh ?? (await client.resources.get(options));
  const text = `${JSON.stringify({ baseUrl, resources } satisfies CatalogueCache)}\n`;
  await writePrivately(cachePath(io.env), text).catch(() => undefined); // a container's home may not be writable
  return resources;
}

function isResources(value: unknown): value is Resources {
  if (typeof value !== "object" || value === null) return false;
  const { hash, resources } = value as { hash?: unknown; resources?: { models?: unknown } | null };
  return typeof hash === "string" && Array.isArray(resources?.models);
}
