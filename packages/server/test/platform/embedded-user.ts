/**
 * A promptd process reduced to its database: started by embedded-process.ts and controlled by its parent's messages.
 */
import { once } from "node:events";
import { startEmbeddedPostgres } from "../../src/platform/embedded/supervise.ts";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import { createLog } from "../../src/platform/log.ts";

interface Order {
  readonly dataDir: string;
  readonly faults: string;
  readonly dbUid?: number;
}

process.once("message", (order: Order) => void serve(order));

async function serve({ dataDir, faults, dbUid }: Order): Promise<void> {
  enableFaults(faults);
  try {
    const server = await startEmbeddedPostgres({ dataDir, log: createLog("error"), dbUid, settings: { fsync: "off" } });
    process.send?.({ kind: "ready", url: server.url });
    await once(process, "message");
    await server.stop();
    process.disconnect();
  } catch (error) {
    process.send?.({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
    process.disconnect();
  }
}
