/**
 * Which models are offered, the same in every process: the hash of GET /v1/resources must not depend on who answers.
 * Of the processes that call models, the one that started last writes what its configuration enables; every process
 * reads the set every 5 seconds.
 * (If every process wrote its own, two processes with different keys would make the list flap without end.)
 */
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import type { Tick } from "../../platform/ticks.ts";
import { entryOf, type Catalogue, type CatalogueEntry } from "./catalogue.ts";
import { listEnabled, writeConfigured, writeFound, type EnabledRow, type FoundServer } from "./enabled-models-store.ts";
import { compatible } from "../providers/openai-compatible.ts";
import { findModels, type ProbeOptions } from "./model-servers.ts";

export interface EnabledModelsOptions {
  readonly catalogue: Catalogue;
  readonly db: Database;
  readonly log: Log;
  /** Null for a process that calls no model (an API without a worker, a command): it reads the set and writes nothing. */
  readonly probe: ProbeOptions | null;
  /** Bounds how many runs of each found model are under way in the whole installation; called before it is offered. */
  readonly limitRuns: (limits: ReadonlyMap<string, number>) => Promise<void>;
}

export interface EnabledModels {
  /**
   * Writes this process's part of the set, and asks the servers once. Call it when nothing can hinder the start any more:
   * a second start by mistake, which finds its port taken, must not take the running process's models away.
   */
  announce(): Promise<void>;
  /** Looks for changes that other processes made; also runs by itself every 5 seconds. */
  refresh(): Promise<void>;
  readonly ticks: readonly Tick[];
  close(): void;
}

const REFRESH_MS = 5_000;
const PROBE_SECONDS = 60;
/** A server on a desk answers one question after another; more at once would only time out there. */
const FOUND_CONCURRENCY = 2;

/** Adopts the common set. */
export async function createEnabledModels(options: EnabledModelsOptions): Promise<EnabledModels> {
  const { catalogue, db, log, probe: servers } = options;
  const refresh = async (): Promise<void> => adopt(catalogue, await listEnabled(db));
  const probe = async (asked: ProbeOptions): Promise<void> => {
    const found = await findModels(asked, catalogue.entries);
    const unknown = found.filter(({ server }) => server !== null);
    if (unknown.length > 0) await options.limitRuns(new Map(unknown.map(({ model }) => [model, FOUND_CONCURRENCY])));
    await writeFound(db, found);
    await refresh();
  };
  await refresh();
  const timer = setInterval(() => {
    refresh().catch((error: unknown) => log.warn({ err: error }, "the list of enabled models could not be read"));
  }, REFRESH_MS);
  timer.unref();
  return {
    announce: async () => {
      if (servers === null) return;
      await writeConfigured(db, catalogue.enabledHere());
      await probe(servers);
    },
    refresh,
    ticks: servers === null ? [] : [{ name: "model-servers", everySeconds: PROBE_SECONDS, run: () => probe(servers) }],
    close: () => clearInterval(timer),
  };
}

/** Before any process wrote the set, each goes by its own configuration. */
function adopt(catalogue: Catalogue, rows: readonly EnabledRow[]): void {
  if (rows.length === 0) return catalogue.useEnabled(catalogue.enabledHere(), []);
  const found = rows.flatMap((row) =>
    row.server === null || row.index === null ? [] : [foundEntry(row.model, row.index, row.server)],
  );
  catalogue.useEnabled(
    rows.map((row) => row.model),
    found,
  );
}

/** What is assumed of a server that no file describes: it is free, slow and small. Behind a key it may well cost something. */
function foundEntry(model: string, index: number, server: FoundServer): CatalogueEntry {
  return entryOf(
    {
      index,
      model,
      provider: server.provider,
      providerModel: server.providerModel,
      api: "chat",
      modality: "text",
      status: "active",
      runOptions: {},
      price: {},
      ...(server.isKeyed ? { priceToConfirm: true, requires: compatible.settings.key } : {}),
      limits: { maxOutputTokens: 2_048, contextTokens: 8_192, timeoutMs: 600_000, concurrency: FOUND_CONCURRENCY },
    },
    { server: { baseURL: server.baseUrl }, priceFactor: "1", origin: "detected" },
  );
}
