import { openDatabase } from "../../packages/server/src/platform/database/database.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";

/** amcheck: after the crashes no index entry is missing or out of order, and no row is damaged. */
export async function checkStorage(superuserUrl: string): Promise<string[]> {
  const db = await openDatabase({ url: superuserUrl, role: "chaos", log: createLog("silent", "stderr") });
  const owned = "c.relnamespace = 'public'::regnamespace and c.relpersistence = 'p'";
  try {
    return await db.tx(
      async (tx) => {
        await tx.query("create extension if not exists amcheck");
        await tx.query(
          `select bt_index_check(c.oid, true) from pg_class c join pg_am a on a.oid = c.relam
           where a.amname = 'btree' and c.relkind = 'i' and ${owned}`,
        );
        const damaged = await tx.query<{ relname: string; msg: string }>(
          `select c.relname, v.msg from pg_class c cross join lateral verify_heapam(c.oid) v
           where c.relkind = 'r' and ${owned}`,
        );
        return damaged.map(({ relname, msg }) => `damaged row in ${relname}: ${msg}`);
      },
      { statementTimeoutMs: 0 },
    );
  } catch (error) {
    return [`index damage: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    await db.close();
  }
}
