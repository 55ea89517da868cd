/**
 * Which models are offered, the same in every process: the hash of GET /v1/resources must not depend on which process
 * responds. Of the processes that call models, the one that started last writes what its configuration enables. Every
 * process reads the set every 5 seconds, excluding models that an operator has switched off.
 * (If every process wrote its own set, two processes with different keys would make the list flap forever.)
 */
import type { Database } from "../../platform/database/database.ts";
import { createFailureLog, type Log } from "../../platform/log.ts";
import type { Tick } from "../../platform/periodic-work.ts";
import { isLoopback } from "../../platform/config/config.ts";
import { entryOf, type Catalogue, type CatalogueEntry } from "./catalogue.ts";
import { listEnabled, writeConfigured, writeFound, type EnabledRow, type FoundServer } from "./enabled-models-store.ts";
import { compatible } from "../providers/openai-compatible.ts";
import { askForLists, findModels, type ProbeOptions } from "./model-servers.ts";

/** Concurrent runs of a model in the whole installation. */
export interface RunLimit {
  readonly max: number;
  /** True: starts low, and follows the server's pace up to `max`. */
  readonly isPaced: boolean;
}

export interface EnabledModelsOptions {
  readonly catalogue: Catalogue;
  readonly db: Database;
  readonly log: Log;
  /** Null for a process that calls no models (an API without a worker, a command): it only reads the set. */
  readonly probe: ProbeOptions | null;
  /** PROMPTD_COMPATIBLE_CONCURRENCY: concurrent runs of each found model; null: 64, or determined by measuring. */
  readonly foundConcurrency: number | null;
  /** Bounds the concurrent runs of each found model in the whole installation; called before the model is offered. */
  readonly limitRuns: (limits: ReadonlyMap<string, RunLimit>) => Promise<void>;
}

export interface EnabledModels {
  /**
   * Writes this process's part of the set, and probes the servers once. Call it when startup can no longer fail: a second
   * start by mistake, which finds its port in use, must not remove the running process's models.
   */
  announce(): Promise<void>;
  /** Reads changes that other processes made; also runs automatically every 5 seconds. */
  refresh(): Promise<void>;
  readonly ticks: readonly Tick[];
  close(): void;
}

const REFRESH_MS = 5_000;
const PROBE_SECONDS = 60;
/** What hosted servers handle with ease, and the upper bound for measuring. */
const FOUND_CONCURRENCY = 64;

/** Adopts the shared set. */
export async function createEnabledModels(options: EnabledModelsOptions): Promise<EnabledModels> {
  const { catalogue, db, log, probe: servers, foundConcurrency } = options;
  const reads = { started: 0, adopted: 0 };
  const refresh = async (): Promise<void> => {
    const read = (reads.started += 1);
    const rows = await listEnabled(db);
    if (read < reads.adopted) return; // a later query finished first, so this result is outdated
    reads.adopted = read;
    adopt(catalogue, rows, foundConcurrency);
  };
  const probe = async (probeOptions: ProbeOptions): Promise<void> => {
    const found = await findModels(probeOptions, catalogue.entries);
    const limits = found.flatMap(({ model, server }) =>
      server === null ? [] : [[model, limitOf(server, foundConcurrency)] as const],
    );
    if (limits.length > 0) await options.limitRuns(new Map(limits));
    await writeFound(db, found);
    await refresh();
  };
  await refresh();
  const fails = "cannot read the list of enabled models; retrying every 5 seconds";
  const failures = createFailureLog(log, fails, "the list of enabled models can be read again");
  const timer = setInterval(() => void refresh().then(failures.worked, failures.failed), REFRESH_MS);
  timer.unref();
  return {
    announce: async () => {
      if (servers === null) return;
      await writeConfigured(db, catalogue.enabledHere());
      await probe(servers);
      if (servers.hasListCheck === true) void reportLists(catalogue, servers, log);
    },
    refresh,
    ticks: servers === null ? [] : [{ name: "model-servers", everySeconds: PROBE_SECONDS, run: () => probe(servers) }],
    close: () => clearInterval(timer),
  };
}

/** Warns about models that a provider no longer lists. It neither delays nor fails startup. */
async function reportLists(catalogue: Catalogue, { secret }: ProbeOptions, log: Log): Promise<void> {
  for (const { provider, isRead, missing, ending } of await askForLists(catalogue.entries, secret)) {
    if (!isRead) log.warn({ provider }, "the provider did not return a list of its models");
    if (missing.length > 0) log.warn({ provider, models: missing }, "the provider no longer lists these models");
    if (ending.length > 0)
      log.warn({ provider, models: ending }, "the provider has announced an end date that is not in the catalogue");
  }
}

/** Until a process has written the set, each process uses its own configuration. */
function adopt(catalogue: Catalogue, rows: readonly EnabledRow[], foundConcurrency: number | null): void {
  if (rows.length === 0) return catalogue.useEnabled(catalogue.enabledHere(), []);
  const found = rows.flatMap((row) =>
    row.server === null || row.index === null
      ? []
      : [foundEntry({ ...row, index: row.index }, row.server, limitOf(row.server, foundConcurrency))],
  );
  catalogue.useEnabled(
    rows.filter(({ isOff }) => !isOff).map((row) => row.model),
    found,
  );
}

/**
 * A server that requires a key is a hosted service that handles many requests at once. A server on this machine or without
 * a key may be a single graphics card that answers one question after another: its capacity is found by measuring.
 */
function limitOf({ baseUrl, isKeyed }: FoundServer, foundConcurrency: number | null): RunLimit {
  if (foundConcurrency !== null) return { max: foundConcurrency, isPaced: false };
  return { max: FOUND_CONCURRENCY, isPaced: !isKeyed || isLoopback(new URL(baseUrl).hostname) };
}

/** The assumptions about a server that no file describes: it is free and small. With a key, it may well cost something. */
function foundEntry(
  { model, index }: { readonly model: string; readonly index: number },
  server: FoundServer,
  { max: concurrency, isPaced }: RunLimit,
): CatalogueEntry {
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
      limits: { maxOutputTokens: 2_048, contextTokens: 8_192, timeoutMs: 600_000, concurrency },
    },
    { server: { baseURL: server.baseUrl }, priceFactor: "1", origin: "detected", isPaced },
  );
}
