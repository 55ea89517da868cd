import { setTimeout as wait } from "node:timers/promises";
import type { AppServices } from "./app-services.ts";
import type { Closers } from "./closers.ts";
import { availability, settlePrice, uncappedPrice } from "./models/index.ts";
import { webhookMails } from "./people/index.ts";
import { openDatabase } from "./platform/database/database.ts";
import { authorsText, findVersion, renderStep, stepOptions } from "./prompts/index.ts";
import {
  createFinisher,
  createInputsReader,
  createPieceWriter,
  findFinishedRun,
  readDelivered,
  saveDelivered,
  Worker,
} from "./runs/index.ts";
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
    ports: {
      readInputs: createInputsReader(db),
      findVersion: (promptVersionId) => findVersion(db, promptVersionId),
      findModel: (model) => models.catalogue.find(model),
      availability: (model) => availability(models.catalogue, model),
      renderStep,
      authorsText: (version, index) =>
        config.PROMPTD_SANDBOX_DIRECTIVES === "callers" ? null : authorsText(version, index),
      stepOptions: (version, index, runOptions) => stepOptions(version, index, runOptions, models.catalogue),
      loadImages: (images, how, signal) => files.loadImages(images, how, signal),
      holdImages: (request, signal) => models.caller.holdImages(request, signal),
      callModel: (request, signal) => models.caller.call(request, signal),
      withdrawCall: (counted) => models.caller.withdraw(counted),
      storeOutput: (output, signal) => files.storeOutput(output, signal),
      storageIsReady: () => files.isReady(),
      nowMs: () => performance.now(),
      wait: (ms, signal) => wait(ms, undefined, { signal }),
      settlePrice: (run, prices, delivered) => {
        const actual = uncappedPrice(prices, delivered);
        const { ceiling } = prices;
        if (actual > ceiling)
          log.warn({ runId: run.runId, actual, ceiling }, "a run cost more than it held; the rest is ours");
        return settlePrice(prices, delivered);
      },
      readDelivered: (run) => readDelivered(db, run),
      saveDelivered: (run, item, signal) => saveDelivered(db, run, item, signal),
      showText: (piece) => pieces.add(piece),
    },
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
