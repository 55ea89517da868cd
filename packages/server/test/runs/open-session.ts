import { onTestFinished } from "vitest";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";

/** A single connection, which keeps its plans; closed when the test ends. */
export async function openSession(url: string): Promise<Database> {
  const session = await openDatabase({ url, role: "test", log: createLog("error", "stderr"), poolMax: 1 });
  onTestFinished(() => session.close());
  return session;
}
