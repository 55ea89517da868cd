import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database } from "./database/database.ts";
import { createLog, type Log } from "./log.ts";
import { startTicks, type Tick } from "./periodic-work.ts";

const log = createLog("silent");
let database: TestDatabase;
let db: Database;
let other: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, role: "one", log });
  other = await openDatabase({ url: database.url, role: "two", log });
});
afterEach(async () => {
  await Promise.all([db.close(), other.close()]);
  await database.drop();
});

function counting(name: string, run: () => void = () => {}): Tick & { count: number } {
  const tick = {
    name,
    everySeconds: 3_600,
    count: 0,
    run: async () => {
      tick.count += 1;
      run();
    },
  };
  return tick;
}

/** Starts ticks that end with the test. @returns a function that polls and waits for what it began. */
async function start(target: Database, ticks: readonly Tick[]): Promise<() => Promise<void>> {
  const running = new Set<Promise<void>>();
  const tracked = ticks.map((tick) => ({
    ...tick,
    run: () => {
      const run = tick.run();
      running.add(run);
      return run;
    },
  }));
  const started = await startTicks(target, tracked, log);
  onTestFinished(() => started.stop());
  return async () => {
    await started.poll();
    await Promise.allSettled(running);
  };
}

const makeDue = () => db.query("update cron_ticks set next_at = promptd_now() - interval '3 hours'");

describe("periodic work", () => {
  test("runs once per interval in the whole installation, however many processes poll at once", async () => {
    const tick = counting("work");
    const polls = await Promise.all([db, other, db, other, db].map((one) => start(one, [tick])));
    const poll = () => Promise.all(polls.map((pollOne) => pollOne()));
    await poll();
    expect(tick.count).toBe(1);
    await poll();
    expect(tick.count).toBe(1);
    await makeDue(); // three missed intervals cause only one run
    await poll();
    await poll();
    expect(tick.count).toBe(2);
  });

  test("that fails is logged, does not stop other work, and runs again at its next interval", async () => {
    const failing = counting("failing", () => {
      throw new Error("no luck");
    });
    const next = counting("next");
    const poll = await start(db, [failing, next]);
    await poll();
    expect([failing.count, next.count]).toEqual([1, 1]);
    await poll();
    expect(failing.count).toBe(1);
    await makeDue();
    await poll();
    expect(failing.count).toBe(2);
  });

  test("uses a changed interval from the next startup", async () => {
    await start(db, [counting("work")]);
    await start(other, [{ ...counting("work"), everySeconds: 5 }]);
    const rows = await db.query<{ seconds: number }>(
      "select extract(epoch from every)::int as seconds from cron_ticks where name = 'work'",
    );
    expect(rows).toEqual([{ seconds: 5 }]);
  });

  test("waits for no other work: work that never ends blocks only itself", async () => {
    const hung = Promise.withResolvers<void>();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stuck: Tick = { ...counting("stuck"), run: () => hung.promise };
    const beside = counting("beside", () => (beside.count === 1 ? first : second).resolve());
    const ticks = await startTicks(db, [stuck, beside], log);
    onTestFinished(async () => {
      hung.resolve();
      await ticks.stop();
    });
    await ticks.poll();
    await first.promise;
    await makeDue();
    await ticks.poll();
    await second.promise;
    expect(beside.count).toBe(2);
  });

  test("notifies its work of a stop, so that it may end between two steps", async () => {
    const ran = Promise.withResolvers<void>();
    const long: Tick = {
      ...counting("long"),
      run: async (stop) => {
        ran.resolve();
        if (stop === undefined) return;
        await once(stop, "abort"); // nothing else ends this work
        hasHeeded = true;
      },
    };
    let hasHeeded = false;
    const ticks = await startTicks(db, [long], log);
    await ticks.poll();
    await ran.promise;
    await ticks.stop();
    expect(hasHeeded).toBe(true);
  });

  test("may end with the abort itself, which is not a failure", async () => {
    const ran = Promise.withResolvers<void>();
    const errors: unknown[] = [];
    const hearing = { ...log, error: (fields: unknown) => void errors.push(fields) } as unknown as Log;
    const long: Tick = {
      ...counting("long"),
      run: async (stop) => {
        ran.resolve();
        if (stop === undefined) return;
        await once(stop, "abort");
        stop.throwIfAborted();
      },
    };
    const ticks = await startTicks(db, [long], hearing);
    await ticks.poll();
    await ran.promise;
    await ticks.stop();
    expect(errors).toEqual([]);
  });

  test("is abandoned by a stop that it ignores", async () => {
    const hung = Promise.withResolvers<void>();
    const ran = Promise.withResolvers<void>();
    const warned: unknown[] = [];
    const hearing = { ...log, warn: (fields: unknown) => void warned.push(fields) } as unknown as Log;
    const deaf: Tick = {
      ...counting("deaf"),
      run: () => {
        ran.resolve();
        return hung.promise;
      },
    };
    const ticks = await startTicks(db, [deaf], hearing, { stopTimeoutMs: 20 });
    await ticks.poll();
    await ran.promise;
    await ticks.stop();
    expect(warned).toEqual([{ ticks: ["deaf"] }]);
    hung.resolve();
  });

  test("runs again after the database's clock has stepped back", async () => {
    const tick = counting("work");
    const poll = await start(db, [tick]);
    await db.query("update cron_ticks set next_at = promptd_now() + interval '1 year'"); // set by a clock that was ahead
    await poll();
    await poll();
    expect(tick.count).toBe(1);
  });

  test("polls on its own, and ends with its run when it is stopped", async () => {
    const [ran, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const order: string[] = [];
    const slow: Tick = {
      name: "slow",
      everySeconds: 3_600,
      run: async () => {
        ran.resolve();
        await release.promise;
        order.push("run");
      },
    };
    const ticks = await startTicks(db, [slow], log);
    onTestFinished(() => ticks.stop());
    await ran.promise;
    const stopping = ticks.stop().then(() => order.push("stopped"));
    await db.query("select 1"); // a stop that did not wait would be over by now
    expect(order).toEqual([]);
    release.resolve();
    await stopping;
    expect(order).toEqual(["run", "stopped"]);
  });
});
