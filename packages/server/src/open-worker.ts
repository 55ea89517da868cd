import { createRunOptions, type AppServices } from "./app-services.ts";
import type { Closers } from "./platform/resilience/closers.ts";
import { webhookMails } from "./people/index.ts";
import { openDatabase } from "./platform/database/database.ts";
import type { Tick } from "./platform/periodic-work.ts";
import { findVersion } from "./prompts/index.ts";
import {
  createBatchStarter,
  createExecutor,
  createFinisher,
  createPieceWriter,
  findFinishedRun,
  Worker,
} from "./runs/index.ts";
import { throughOutage } from "./start-failure.ts";
import { createDeliverer, type Deliverer } from "./webhooks/index.ts";

/** Creates this process's worker, with the other slices passed as functions. It claims nothing until it is started. */
export async function openWorker(services: AppServices, closers: Closers): Promise<Worker> {
  const { config, log, installation, db, notifications, files, hub, followers, newId } = services;
  const openOne = async (role: string) => {
    // Stays open between heartbeats, however long the lease: a process that starts next to an embedded database recognizes
    // live workers by their connections.
    const settings = { url: installation.url, role: `${services.role}-${role}`, poolMax: 1, staysOpen: true, log };
    const one = await throughOutage(() => openDatabase(settings), services);
    closers.add(() => one.close());
    return one;
  };
  const [heartbeats, upkeep] = await Promise.all([openOne("heartbeat"), openOne("upkeep")]);
  const onFinished = (runIds: readonly string[]) => {
    hub.wake(runIds);
    for (const runId of runIds) notifications.notify("run_done", runId);
  };
  const pieces = createPieceWriter({
    db,
    log,
    onWritten: (runIds) => {
      followers.wake(runIds);
      for (const runId of runIds) notifications.notify("run_text", runId);
    },
  });
  closers.add(() => pieces.flush());
  return new Worker({
    db,
    heartbeats,
    upkeep,
    notifications,
    log,
    newId,
    concurrency: config.PROMPTD_WORKER_CONCURRENCY,
    leaseMs: config.PROMPTD_LEASE_MS,
    isLocalDatabase: installation.isEmbedded,
    onFailed: onFinished,
    finisher: createFinisher({ db, files, log, onWritten: (runs) => hub.deliver(runs), onFinished }),
    execute: createExecutor({
      ...services,
      caller: services.models.caller,
      pieces,
      findVersion: (promptVersionId) => findVersion(db, promptVersionId),
      sandboxObeys: config.PROMPTD_SANDBOX_DIRECTIVES,
    }),
  });
}

/** Starts the items of batches, only in processes with a worker: an API process has callers to answer. */
export function openBatchStarter(services: AppServices): Tick {
  const { config, notifications } = services;
  const starter = createBatchStarter({
    ...services,
    create: createRunOptions(services),
    plans: config.PROMPTD_PLANS,
    onCreated: () => notifications.notify("run_ready"),
  });
  notifications.listen("batch_ready", starter.wake);
  notifications.listen("run_done", starter.onRunDone);
  return starter.tick;
}

/** Events do not carry large texts. Receivers can read the run. */
const EVENT_OUTPUT_BYTES_MAX = 256 * 1024;

/** Creates the webhook sender. It sends nothing until it is started. */
export function openDeliverer(services: AppServices, closers: Closers): Deliverer {
  const deliverer = createDeliverer({
    ...services,
    readRun: (accountId, runId) => findFinishedRun(services.db, accountId, runId, EVENT_OUTPUT_BYTES_MAX),
    onDisabled: webhookMails(services.mailer),
  });
  closers.add(() => deliverer.stop());
  return deliverer;
}
