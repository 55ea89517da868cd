/** A separate process that floods the admission of one installation, for limiter.test.ts. */
import { createAdmissionControl } from "../../src/accounts/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";

export interface FloodOrder {
  readonly databaseUrl: string;
  readonly apiKeys: readonly string[];
  readonly floods: number;
  /** Floods until it is asked to stop and has been refused with this status. */
  readonly untilRefusedWith: 401 | 429;
}
export interface FloodReport {
  readonly admitted: number;
  readonly refused: number;
}

process.once("message", (order: FloodOrder) => void flood(order));

async function flood(order: FloodOrder): Promise<void> {
  const log = createLog("error", "stderr");
  const db = await openDatabase({ url: order.databaseUrl, role: "flood", log, poolMax: 2 });
  const control = createAdmissionControl({
    db,
    clock: systemClock,
    log,
    limitPerSecond: 5,
    scope: "account",
    plans: true,
  });
  const report = { admitted: 0, refused: 0 };
  const state = { isAskedToStop: false, isRefused: false };
  process.send?.("ready");
  await new Promise<void>((resolve) => process.once("message", () => resolve()));
  process.once("message", () => (state.isAskedToStop = true));
  await Promise.all(
    Array.from({ length: order.floods }, async (_, i) => {
      const authorization = [`Bearer ${order.apiKeys[i % order.apiKeys.length]}`];
      while (!state.isAskedToStop || !state.isRefused) {
        const admission = await control.admit({ authorization, address: "127.0.0.1" });
        report[admission.kind] += 1;
        state.isRefused ||= admission.kind === "refused" && admission.problem.httpStatus === order.untilRefusedWith;
      }
    }),
  );
  await control.close();
  await db.close();
  process.send?.(report satisfies FloodReport, () => process.disconnect());
}
