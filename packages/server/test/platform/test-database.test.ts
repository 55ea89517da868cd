import { expect, it } from "vitest";
import { openDatabase } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { createTestDatabase } from "../support/test-database.ts";

it("gives every caller its own migrated database, also concurrently", async () => {
  const databases = await Promise.all([createTestDatabase(), createTestDatabase(), createTestDatabase()]);
  const names = await Promise.all(
    databases.map(async ({ url }) => {
      const db = await openDatabase({ url, role: "test", log: createLog("error") });
      const [row] = await db.query<{ name: string; migrations: number }>(
        "select current_database() as name, (select count(*) from schema_migrations)::int as migrations",
      );
      expect(row?.migrations).toBeGreaterThan(0);
      await db.close();
      return row?.name;
    }),
  );
  expect(new Set(names).size).toBe(3);
  await Promise.all(databases.map((database) => database.drop()));
});
