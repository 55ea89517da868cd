/** A separate process that concurrently creates runs with one API key, for key-caps.test.ts. */
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { AccountLockQueue } from "../../src/runs/create/account-lock-queue.ts";
import { createRunRow, type RunToCreate } from "../../src/runs/create/create-store.ts";

export interface CapOrder {
  readonly databaseUrl: string;
  readonly run: Omit<RunToCreate, "runId">;
  readonly count: number;
}

process.once("message", (order: CapOrder) => void createTogether(order));

async function createTogether({ databaseUrl, run, count }: CapOrder): Promise<void> {
  const log = createLog("error", "stderr");
  const db = await openDatabase({ url: databaseUrl, role: "cap", log, poolMax: count });
  const newId = createIdSource(systemClock);
  const locks = new AccountLockQueue();
  process.send?.("ready");
  await new Promise<void>((resolve) => process.once("message", () => resolve()));
  const outcomes = await Promise.all(
    Array.from({ length: count }, () => {
      const runId = newId();
      return locks.run(run.accountId, () =>
        createRunRow({ query: (...statement) => db.once(...statement) }, { ...run, runId }),
      );
    }),
  );
  await db.close();
  process.send?.(
    outcomes.map(({ kind }) => kind),
    () => process.disconnect(),
  );
}
