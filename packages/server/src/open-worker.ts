import type { AppServices } from "./app-services.ts";
import type { Closers } from "./closers.ts";
import { webhookMails } from "./people/index.ts";
import { openDatabase } from "./platform/database/database.ts";
import { findVersion } from "./prompts/index.ts";
import { createExecutor, createFinisher, createPieceWriter, findFinishedRun, Worker } from "./runs/index.ts";
import { throughOutage } from "./start-failure.ts";
import { createDeliverer, type Deliverer } from "./webhooks/index.ts";

/** The worker of this process with the other slices passed as functions; it claims nothing before it is started. */
export async function openWorker(services: AppServices, closers: Closers): Promise<Worker> {
  const { options, installation, db, notifications, files, models, hub, followers, newId } = services;
  const { config, log } = options;
  const openOne = async (role: string) => {
    // Open between two heartbeats, however long the lease: a process that starts beside an embedded database knows the
    // workers that live by their connections.
    const settings = { url: installation.url, role: `${options.role}-${role}`, poolMax: 1, staysOpen: true, log };
    const one = await throughOutage(() => openDatabase(settings), options);
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
      db,
      log,
      catalogue: models.catalogue,
      caller: models.caller,
      files,
      pieces,
      findVersion: (promptVersionId) => findVersion(db, promptVersionId),
      sandboxObeys: config.PROMPTD_SANDBOX_DIRECTIVES,
    }),
  });
}

/** An event is not for large texts; who wants them reads the run. */
const EVENT_OUTPUT_BYTES_MAX = 256 * 1024;

/** What sends events to webhooks; it sends nothing before it is started. */
export function openDeliverer({ db, clock, vault, poster, mailer, options }: AppServices, closers: Closers): Deliverer {
  const { log } = options;
  const readRun = (accountId: string, runId: string) =>
    findFinishedRun(db, { accountId, runId }, EVENT_OUTPUT_BYTES_MAX);
  const deliverer = createDeliverer({
    db,
    log,
    clock,
    vault,
    poster,
    readRun,
    onDisabled: webhookMails(mailer),
  });
  closers.add(() => deliverer.stop());
  return deliverer;
}
