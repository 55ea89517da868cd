/** Reads the shipped entries: one file per provider below entries/, and what is said of all of them in catalogue.json. */
import { readdirSync, readFileSync } from "node:fs";
import {
  CatalogueError,
  catalogueFileSchema,
  describeIssues,
  entriesFileSchema,
  type ModelRecord,
} from "./catalogue-file.ts";
import type { Roles } from "./roles.ts";
import type { OwnServer } from "../providers/provider-endpoint.ts";

export interface ShippedEntries {
  readonly records: readonly ModelRecord[];
  /** Servers that speak the OpenAI interface, by the provider's name. */
  readonly servers: Readonly<Record<string, OwnServer>>;
  readonly roles: Roles;
}

const HEAD = new URL("./catalogue.json", import.meta.url);
const DIRECTORY = new URL("./entries/", import.meta.url);

let read: ShippedEntries | null = null;

/** The files do not change while a process lives, so they are read once. @throws CatalogueError with every fault. */
export function readShipped(): ShippedEntries {
  read ??= readFiles();
  return read;
}

function readFiles(): ShippedEntries {
  const files = readdirSync(DIRECTORY)
    .filter((name) => name.endsWith(".json"))
    .map((name) => ({ name, parsed: entriesFileSchema.safeParse(readJson(new URL(name, DIRECTORY))) }));
  const head = catalogueFileSchema.safeParse(readJson(HEAD));
  const faults = files.flatMap(({ name, parsed }) =>
    parsed.success ? [] : describeIssues(parsed.error, `entries/${name}`),
  );
  if (!head.success) faults.push(...describeIssues(head.error, "catalogue.json"));
  if (faults.length > 0) throw new CatalogueError(faults);
  const entries = files.flatMap(({ parsed }) => parsed.data ?? []);
  return {
    records: entries.flatMap(({ provider, models }) => models.map((model) => ({ ...model, provider }))),
    servers: Object.fromEntries(entries.flatMap(({ provider, server }) => (server ? [[provider, server]] : []))),
    roles: head.data?.roles ?? {},
  };
}

function readJson(file: URL): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}
