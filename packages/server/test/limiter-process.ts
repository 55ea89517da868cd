/** A process of its own that floods the door of one installation, for limiter.test.ts. */
import { createDoor } from "../src/accounts/index.ts";
import { systemClock } from "../src/platform/clock.ts";
import { openDatabase } from "../src/platform/database.ts";
import { createLog } from "../src/platform/log.ts";

export interface FloodOrder {
  readonly databaseUrl: string;
  readonly apiKeys: readonly string[];
  readonly forMs: number;
  readonly floods: number;
}
export interface FloodReport {
  readonly admitted: number;
  readonly refused: number;
}

process.once("message", (order: FloodOrder) => void flood(order));

async function flood(order: FloodOrder): Promise<void> {
  const log = createLog("error", "stderr");
  const db = await openDatabase({ url: order.databaseUrl, role: "flood", log, poolMax: 2 });
  const door = createDoor({ db, clock: systemClock, log, limitPerSecond: 5, scope: "account", plans: true });
  const report = { admitted: 0, refused: 0 };
  process.send?.("ready");
  await new Promise<void>((resolve) => process.once("message", () => resolve()));
  const endMs = performance.now() + order.forMs;
  await Promise.all(
    Array.from({ length: order.floods }, async (_, i) => {
      const authorization = [`Bearer ${order.apiKeys[i % order.apiKeys.length]}`];
      while (performance.now() < endMs) {
        const { kind } = await door.enter({ authorization, address: "127.0.0.1" });
        report[kind] += 1;
      }
    }),
  );
  await door.close();
  await db.close();
  process.send?.(report satisfies FloodReport, () => process.disconnect());
}
