import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createLog } from "../packages/server/src/platform/log.ts";
import { migrate } from "../packages/server/src/platform/database/migrate.ts";
import { killLeftovers } from "../packages/server/test/support/promptd-process.ts";
import { startChaosDatabase, type ChaosDatabase } from "./chaos/database-server.ts";

/** Measures on a database of its own, prints the line and writes it to the file; whatever happens, nothing is left running. */
export async function measureOnDatabase(
  kind: "embedded" | "postgres",
  file: string,
  measure: (server: ChaosDatabase) => Promise<object>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "promptd-measure-"));
  const server = await startChaosDatabase(kind, home);
  try {
    await migrate(server.url, createLog("silent", "stderr"));
    const line = JSON.stringify(await measure(server));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${line}\n`);
    console.log(line);
  } finally {
    await killLeftovers();
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  }
}
