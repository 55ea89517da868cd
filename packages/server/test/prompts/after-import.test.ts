/**
 * A bulk import has exclusive access to publishing and the index for up to a minute, and other work waits until it
 * ends.
 */
import { expect, test } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { publishPrompts, unpublishPrompt } from "../../src/prompts/index.ts";
import { lockPublishing } from "../../src/prompts/publishing/publish-store.ts";
import { createSearch } from "../../src/search/index.ts";
import { lockIndex } from "../../src/search/indexing/index-store.ts";
import { until } from "../support/promptd-process.ts";
import { IN_THIS_DATABASE, openTestDatabase } from "../support/test-database.ts";
import { catalogue, parseOne, TEA_POEM } from "./prompt-fixtures.ts";

const log = createLog("silent");
const newId = createIdSource(systemClock);
/** Longer than the statement timeout, and than a server may be silent. */
const LONG = "7 s";

test("unpublishing and index maintenance wait for a bulk import, longer than the usual statement timeout", async () => {
  const { db, url, close } = await openTestDatabase();
  const authorId = await createAccount(db, newId, { email: "ada@example.org", plan: "none" });
  const [prompt] = await publishPrompts(db, [parseOne(TEA_POEM)], { authorId, catalogue, newId });
  const search = createSearch({ db, log, clock: systemClock });
  const importer = await openDatabase({ url, role: "importer", log });
  const [locked, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const importing = importer.tx(
    async (tx) => {
      await lockPublishing(tx);
      await lockIndex(tx);
      locked.resolve();
      await done.promise;
    },
    { statementTimeoutMs: 0 },
  );
  await locked.promise;
  const ticks = search.ticks.filter(({ name }) => ["search-embed", "search-renew", "search-tidy"].includes(name));
  const waiting = [unpublishPrompt(db, prompt?.promptId ?? ""), ...ticks.map((tick) => tick.run())];
  let settled = 0;
  for (const one of waiting) void Promise.allSettled([one]).then(() => (settled += 1));
  await until(async () => settled > 0 || (await countLong(importer)) === waiting.length);
  done.resolve();
  await importing;
  await Promise.all(waiting);
  expect(await search.find("tea", 20)).toEqual([]);
  await search.close();
  await importer.close();
  await close();
});

/** How many statements have waited for a lock for a long time. */
async function countLong(db: Database): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where pid in (
       select pid from pg_locks where not granted and locktype = 'advisory' and ${IN_THIS_DATABASE})
     and query_start < clock_timestamp() - interval '${LONG}'`,
  );
  return row?.n ?? 0;
}
