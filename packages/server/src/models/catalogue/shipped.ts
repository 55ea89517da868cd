/** Reads the shipped entries: one file per provider in entries/, and what applies to all of them in catalogue.json. */
import { readdirSync, readFileSync } from "node:fs";
import type { catalogueFileSchema, entriesFileSchema, ModelRecord } from "./catalogue-file.ts";
import type { z } from "zod";
import type { Roles } from "./roles.ts";
import type { OwnServer } from "../providers/provider.ts";

export interface ShippedEntries {
  readonly records: readonly ModelRecord[];
  /** OpenAI-compatible servers, by provider name. */
  readonly servers: Readonly<Record<string, OwnServer>>;
  readonly roles: Roles;
}

const HEAD = new URL("./catalogue.json", import.meta.url);
const DIRECTORY = new URL("./entries/", import.meta.url);

let read: ShippedEntries | null = null;

/**
 * The files do not change while a process lives, so they are read once. They are not validated here: a test checks them
 * against their schemas, which would add 40 ms to startup.
 */
export function readShipped(): ShippedEntries {
  read ??= readFiles();
  return read;
}

function readFiles(): ShippedEntries {
  const entries = readdirSync(DIRECTORY)
    .filter((name) => name.endsWith(".json"))
    .map((name) => readJson(new URL(name, DIRECTORY)) as z.output<typeof entriesFileSchema>);
  const head = readJson(HEAD) as z.output<typeof catalogueFileSchema>;
  return {
    records: entries.flatMap(({ provider, models }) => models.map((model) => ({ ...model, provider }))),
    servers: Object.fromEntries(entries.flatMap(({ provider, server }) => (server ? [[provider, server]] : []))),
    roles: head.roles ?? {},
  };
}

function readJson(file: URL): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}
