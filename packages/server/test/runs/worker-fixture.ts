/** A worker on an engine's database, without HTTP, models, or files; tests say what disturbs it. */
import type { Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import type { Notifications } from "../../src/platform/database/notifications.ts";
import { withdrawCall as uncountCall } from "../../src/models/calls/provider-calls-store.ts";
import type { ModelCaller } from "../../src/models/index.ts";
import { createExecutor, type ExecutionContext } from "../../src/runs/work/execute.ts";
import { createFinisher } from "../../src/runs/work/finish.ts";
import { Worker, type WorkerOptions } from "../../src/runs/work/worker.ts";
import type { Engine } from "./engine-fixture.ts";

export const QUICK_LEASE_MS = 1_500;

export interface TestWorkerOptions extends Partial<
  Pick<WorkerOptions, "db" | "heartbeats" | "upkeep" | "concurrency" | "leaseMs">
> {
  /** The first thing that a run does. Null ends it as failed; without this it never gets further. */
  readonly findVersion?: ExecutionContext["findVersion"];
}

const NO_NOTIFICATIONS: Notifications = {
  listen: () => {},
  onGap: () => {},
  notify: () => {},
  notifyOthers: () => {},
  close: async () => {},
};

export function createTestWorker({ db, newId }: Engine, options: TestWorkerOptions = {}): Worker {
  const log = createLog("silent", "stderr");
  const { findVersion = () => new Promise<never>(() => {}), ...changes } = options;
  const withdraw: ModelCaller["withdraw"] = async ({ unmade }) => {
    if (unmade !== null) await uncountCall(db, unmade);
  };
  return new Worker({
    db,
    heartbeats: db,
    upkeep: db,
    notifications: NO_NOTIFICATIONS,
    log,
    newId,
    concurrency: 10,
    leaseMs: QUICK_LEASE_MS,
    ...changes,
    isLocalDatabase: false,
    execute: createExecutor({ db: changes.db ?? db, findVersion, caller: { withdraw } } as unknown as ExecutionContext),
    onFailed: () => {},
    finisher: createFinisher({
      db,
      files: { recordOutputs: async () => {} },
      log,
      onWritten: () => {},
      onFinished: () => {},
    }),
  });
}

/** A database that never responds to matching statements, and lets go of them at the signal, as its time limits do. */
export function silentFor(db: Database, words: RegExp, end: AbortSignal): Database {
  const silence = new Promise<never>((_, reject) => {
    end.addEventListener("abort", () => reject(new Error("Query read timeout")), { once: true });
  });
  silence.catch(() => {});
  return {
    ...db,
    query: (statement, values) => {
      const text = typeof statement === "string" ? statement : statement.text;
      return words.test(text) ? silence : db.query(statement, values);
    },
  };
}
