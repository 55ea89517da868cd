/**
 * The fault points away from a run's path: grants, periodic work, migrations, and the start of the embedded database.
 */
import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { FAULT_POINTS, type FaultPoint } from "../../src/platform/fault-injection.ts";
import { createLog } from "../../src/platform/log.ts";
import { cleanUp, createDataDir, isAnswering, startUser } from "../platform/embedded-process.ts";
import {
  bodyOf,
  chosen,
  createUntilAnswered,
  expectConnectionsLost,
  isFrozen,
  ON_THE_WAY,
  untilConnectionsLost,
} from "./fault-points.ts";
import type { InstallationFixture } from "../support/installation-fixture.ts";
import { exitOf, killLeftovers, runCommand, until } from "../support/promptd-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";
import { useInstallation } from "../support/use-installation.ts";

/** Points away from a run's path, and where they are tested. */
const ELSEWHERE: Partial<Record<FaultPoint, string>> = {
  "grant.before_commit": "below",
  "expire.before_commit": "below",
  "file.after_mark": "below",
  "file.after_unlink": "below",
  "migrate.mid": "below",
  "webhook.before_settle": "killed: faults-webhook-kills.test.ts",
  "embedded.init_mid": "below; killed: faults-embedded-kills.test.ts",
  "embedded.before_ready": "below; killed: faults-embedded-kills.test.ts",
};

test("every registered point is on a run's path or tested elsewhere", () => {
  expect([...Object.keys(ON_THE_WAY), ...Object.keys(ELSEWHERE)].sort()).toEqual([...FAULT_POINTS].sort());
});

describe("at its point before the commit a grant", () => {
  const installation = useInstallation();

  const order = async (fixture: InstallationFixture) => {
    const { accountId } = await fixture.createCaller(10);
    return ["admin", "credits", "grant", "--user", accountId, "--amount", "5", "--idempotency-key", "g"];
  };
  const expectOneGrant = async (fixture: InstallationFixture, argv: readonly string[]) => {
    for (let i = 0; i < 2; i += 1) {
      expect(await runCommand(argv, fixture.environment)).toMatchObject({ code: 0, result: { credits: 15 } });
    }
    expect(await fixture.findFaults()).toEqual([]);
  };

  test("that dies is made only once with the same key", async () => {
    const fixture = installation();
    const argv = await order(fixture);
    const died = await runCommand(argv, { ...fixture.environment, PROMPTD_FAULT: "grant.before_commit:kill" });
    expect(died.code).toBeNull();
    await expectOneGrant(fixture, argv);
  });

  test("that freezes, and wakes after the same key was used, adds nothing", async () => {
    const fixture = installation();
    const argv = await order(fixture);
    const sleeping = runCommand(argv, { ...fixture.environment, PROMPTD_FAULT: "grant.before_commit:stop" });
    const pid = await pidOfFrozen(fixture.db);
    await expectOneGrant(fixture, argv);
    process.kill(pid, "SIGCONT");
    expect(await sleeping).toMatchObject({ code: 0, result: { credits: 15 } });
    await expectOneGrant(fixture, argv);
  });

  test("that loses its connections is made at most once, and exactly once when repeated with the same key", async () => {
    const fixture = installation();
    const argv = await order(fixture);
    const first = await runCommand(argv, { ...fixture.environment, PROMPTD_FAULT: "grant.before_commit:cut" });
    expect(first.code).not.toBeNull();
    expectConnectionsLost(first.errors.split("\n"));
    await expectOneGrant(fixture, argv);
  });
});

describe("periodic work", () => {
  const installation = useInstallation();

  interface Work {
    readonly tick: string;
    readonly prepare: (fixture: InstallationFixture) => Promise<void>;
    /** What the database shows once the work has been done, with each part done once. */
    readonly done: (fixture: InstallationFixture) => Promise<readonly unknown[]>;
    readonly expected: readonly unknown[];
  }
  const expiry: Work = {
    tick: "credit-expiry",
    prepare: async (fixture) => {
      const { accountId } = await fixture.createCaller(10);
      await fixture.db.query("insert into credit_grants (account_id, remaining, expires_at) values ($1, 4, now())", [
        accountId,
      ]);
    },
    done: (fixture) => fixture.db.query("select amount from credit_transfers where kind = 'expire'"),
    expected: [{ amount: 4 }],
  };
  const files: Work = {
    tick: "files-expiry",
    prepare: async (fixture) => {
      const caller = await fixture.createCaller();
      const server = await fixture.start();
      await createUntilAnswered(caller, server.url, bodyOf(fixture, { prompt: "picture", ask: "a picture" }));
      await server.stop();
      await fixture.db.query("update files set expires_at = promptd_now() - interval '2 hours'");
    },
    done: (fixture) => fixture.db.query("select 1 as removed from files where removed_at is not null"),
    expected: [{ removed: 1 }],
  };
  const WORK = {
    "expire.before_commit": expiry,
    "file.after_mark": files,
    "file.after_unlink": files,
  } satisfies Partial<Record<FaultPoint, Work>>;

  type Point = keyof typeof WORK;
  const all = Object.keys(WORK) as Point[];

  const makeDue = (fixture: InstallationFixture, { tick }: Work) =>
    fixture.db.query("update cron_ticks set next_at = promptd_now() where name = $1", [tick]);
  /**
   * The start is returned in an object: waiting for it here would mean waiting for a worker that may never be ready.
   */
  const startBroken = async (fixture: InstallationFixture, point: Point, action: "kill" | "stop" | "cut") => {
    await WORK[point].prepare(fixture);
    await makeDue(fixture, WORK[point]);
    return { starting: fixture.start("worker", { PROMPTD_FAULT: `${point}:${action}@1` }) };
  };
  /** @returns the next worker, when it has done the work. */
  const startNext = async (fixture: InstallationFixture, work: Work) => {
    await makeDue(fixture, work);
    const next = await fixture.start("worker");
    await until(async () => (await work.done(fixture)).length > 0);
    return next;
  };
  const endOf = async (fixture: InstallationFixture, { done }: Work) => ({
    done: await done(fixture),
    faults: await fixture.findFaults(),
  });
  const once = ({ expected }: Work) => ({ done: expected, faults: [] });

  test.each(chosen<Point>(all, ["expire.before_commit", "file.after_unlink"]))(
    "whose worker dies at %s is done once by the next worker",
    async (point) => {
      const fixture = installation();
      const { starting } = await startBroken(fixture, point, "kill");
      expect(await exitOf(starting)).toEqual({ code: null, signal: "SIGKILL" });
      expect(await WORK[point].done(fixture)).toEqual([]);
      const next = await startNext(fixture, WORK[point]);
      await next.stop();
      expect(await endOf(fixture, WORK[point])).toEqual(once(WORK[point]));
    },
  );

  test.each(chosen<Point>(all, ["expire.before_commit"]))(
    "whose worker freezes at %s is done once by the next worker, even when the first one wakes",
    async (point) => {
      const fixture = installation();
      const { starting } = await startBroken(fixture, point, "stop");
      const pid = await pidOfFrozen(fixture.db);
      expect(await WORK[point].done(fixture)).toEqual([]);
      const next = await startNext(fixture, WORK[point]);
      process.kill(pid, "SIGCONT");
      await (await starting).stop(); // it finishes its tick first
      await next.stop();
      expect(await endOf(fixture, WORK[point])).toEqual(once(WORK[point]));
    },
  );

  test.each(chosen<Point>(all, []))(
    "whose worker loses its connections at %s is done once by the next worker",
    async (point) => {
      const fixture = installation();
      const { starting } = await startBroken(fixture, point, "cut");
      await untilConnectionsLost(await starting); // its tick is over, and the next one is far away
      const next = await startNext(fixture, WORK[point]);
      await next.stop();
      expect(await endOf(fixture, WORK[point])).toEqual(once(WORK[point]));
    },
  );
});

describe("halfway through its migrations a start", () => {
  let database: TestDatabase;
  let db: Database;
  let environment: Record<string, string>;
  beforeEach(async () => {
    database = await createTestDatabase();
    db = await openDatabase({ url: database.url, role: "test", log: createLog("error", "stderr"), poolMax: 2 });
    await db.query("drop schema public cascade; create schema public"); // as if nobody had ever migrated it
    environment = { DATABASE_URL: database.url, PROMPTD_LOG_LEVEL: "error" };
  });
  afterEach(async () => {
    await killLeftovers();
    await db.close();
    await database.drop();
  });
  const applied = ({ result }: { result: unknown }) => (result as { applied: string[] }).applied;

  test.each(chosen(["kill", "cut"], ["kill"]))(
    "that ends by %s is rolled back, and completed by the next one",
    async (action) => {
      const died = await runCommand(["migrate"], { ...environment, PROMPTD_FAULT: `migrate.mid:${action}@3` });
      expect(died.code).not.toBe(0);
      expect(await db.query("select 1 from pg_class where relname = 'accounts'")).toEqual([]);
      expect(applied(await runCommand(["migrate"], environment))).toContain("0001-platform");
      expect(applied(await runCommand(["migrate"], environment))).toEqual([]);
    },
  );

  test("that freezes keeps another one waiting, which then has nothing to do", async () => {
    const sleeping = runCommand(["migrate"], { ...environment, PROMPTD_FAULT: "migrate.mid:stop@3" });
    const pid = await pidOfFrozen(db);
    const waiting = runCommand(["migrate"], environment);
    await until(async () => (await db.query(MIGRATING)).length === 2);
    process.kill(pid, "SIGCONT");
    expect(applied(await sleeping)).toContain("0001-platform");
    expect(applied(await waiting)).toEqual([]);
  });
});

/** The frozen process, and one that has requested the migration lock. */
const MIGRATING = `select 1 from pg_stat_activity where datname = current_database()
  and application_name like 'promptd:migrate:%' and (state <> 'idle' or query ~ 'rollback')`;

describe("at its point in the start of the embedded database a process", () => {
  afterEach(() => cleanUp());

  test.each(chosen(["embedded.init_mid", "embedded.before_ready"], ["embedded.init_mid"]))(
    "that freezes at %s keeps another one waiting, and both use one server when it wakes",
    async (point) => {
      const dataDir = await createDataDir();
      const sleeping = startUser(dataDir, { faults: `${point}:stop` });
      let pid = 0;
      await until(async () => {
        pid = Number.parseInt(await readlink(join(dataDir, "pg.lock")).catch(() => "0"), 10);
        return pid !== 0 && isFrozen(pid);
      });
      const waiting = startUser(dataDir);
      process.kill(pid, "SIGCONT");
      const [one, other] = await Promise.all([sleeping, waiting]);
      expect(one.url).toBe(other.url);
      expect(await isAnswering(one.url)).toBe(true);
    },
  );
});

/** Its connections carry the id of each process. */
async function pidOfFrozen(db: Database): Promise<number> {
  let frozen: number | undefined;
  await until(async () => {
    const rows = await db.query<{ pid: string }>(
      `select distinct split_part(application_name, ':', 3) as pid from pg_stat_activity
       where datname = current_database() and application_name like 'promptd:%' and application_name not like '%:test:%'`,
    );
    const pids = rows.map((row) => Number(row.pid));
    const states = await Promise.all(pids.map((pid) => isFrozen(pid).catch(() => false)));
    frozen = pids[states.indexOf(true)];
    return frozen !== undefined;
  });
  return frozen ?? 0;
}
