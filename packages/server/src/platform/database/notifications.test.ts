import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openTestDatabase, type OpenTestDatabase } from "../../../test/support/test-database.ts";
import { systemClock } from "../clock.ts";
import { openConnection, type Database } from "./database.ts";
import { enableFaults } from "../fault-injection.ts";
import { createIdSource } from "../ids.ts";
import { createLog } from "../log.ts";
import { createNotifications, type Notifications } from "./notifications.ts";

const log = createLog("silent");
const newId = createIdSource(systemClock);
let database: OpenTestDatabase;
let db: Database;
beforeEach(async () => {
  database = await openTestDatabase();
  ({ db } = database);
});
afterEach(async () => {
  enableFaults("");
  await database.close();
});

function open(role: string, listenUrl: string | null = database.url): Notifications {
  const notifications = createNotifications({ db, listenUrl, role, log });
  onTestFinished(() => notifications.close());
  return notifications;
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error("the awaited condition never came true");
    await wait(10);
  }
}

/** Backends that listen for this role; the listener connects in the background. */
async function listeners(role: string): Promise<number[]> {
  const rows = await db.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name like $1 and query like 'listen %' and state = 'idle'",
    [`promptd:${role}-listen:%`],
  );
  return rows.map((row) => row.pid);
}

/** Collects what a process receives on a channel, once it listens. */
async function listen(role: string): Promise<{ received: string[][]; notifications: Notifications; gaps: number[] }> {
  const [received, gaps]: [string[][], number[]] = [[], []];
  const notifications = open(role);
  notifications.listen("run_done", (ids) => received.push([...ids]));
  notifications.onGap(() => gaps.push(1));
  await until(async () => (await listeners(role)).length === 1);
  return { received, notifications, gaps };
}

describe("notifications", () => {
  test("reach the other processes and the own one, each id once, and only on their channel", async () => {
    const [one, two] = [await listen("one"), await listen("two")];
    const id = newId();
    one.notifications.notify("search_changed");
    one.notifications.notify("run_done", id);
    await until(() => one.received.length > 0 && two.received.length > 0);
    expect([one.received, two.received]).toEqual([[[id]], [[id]]]);
  });

  test("for others are heard by them alone", async () => {
    const [one, two] = [await listen("one"), await listen("two")];
    one.notifications.notifyOthers("run_done");
    await until(() => two.received.length > 0);
    const id = newId();
    two.notifications.notify("run_done", id); // what is sent later arrives later
    await until(() => one.received.length > 0);
    expect(one.received).toEqual([[id]]);
  });

  test("of the same few milliseconds are one statement and one notification per channel", async () => {
    let statements = 0;
    const counting: Database = { ...db, query: (text, values) => ((statements += 1), db.query(text, values)) };
    const notifications = createNotifications({ db: counting, listenUrl: null, role: "notifying", log });
    const { received } = await listen("one");
    const ids = Array.from({ length: 50 }, newId);
    for (const id of [...ids, ...ids]) notifications.notify("run_done", id);
    for (let i = 0; i < 20; i += 1) notifications.notify("run_ready");
    await notifications.close();
    await until(() => received.length > 0);
    expect(received).toEqual([ids]);
    expect(statements).toBe(1);
  });

  test("of very many ids are cut so that every payload stays below the 8,000 bytes of PostgreSQL", async () => {
    const payloads: string[] = [];
    const listener = openConnection(database.url, "raw-test");
    listener.on("notification", ({ payload }) => payloads.push(payload ?? ""));
    await listener.connect();
    onTestFinished(() => listener.end());
    await listener.query("listen run_done");
    const notifications = open("notifying", null);
    const ids = Array.from({ length: 1_001 }, newId);
    for (const id of ids) notifications.notify("run_done", id);
    await until(() => payloads.join(",").split(",").length >= ids.length);
    expect(payloads.flatMap((payload) => payload.split(","))).toEqual(ids);
    expect(payloads.length).toBeGreaterThan(1);
    expect(payloads.filter((payload) => Buffer.byteLength(payload) >= 8_000)).toEqual([]);
  });

  test("arrive again after the connection was lost, and the gap is reported", async () => {
    const { received, notifications, gaps } = await listen("one");
    expect(gaps).toEqual([]);
    const [pid] = await listeners("one");
    await db.query("select pg_terminate_backend($1)", [pid]);
    await until(() => gaps.length > 0);
    await until(async () => {
      const now = await listeners("one");
      return now.length === 1 && now[0] !== pid;
    });
    const id = newId();
    notifications.notify("run_done", id);
    await until(() => received.length > 0);
    expect(received).toEqual([[id]]);
  });

  test("that cannot be sent disturb nobody: not the caller, not the next notification", async () => {
    const { received, notifications } = await listen("one");
    const broken: Database = { ...db, query: () => Promise.reject(new Error("the database is gone")) };
    enableFaults("notify.send:skip");
    for (const target of [db, broken]) {
      const silent = createNotifications({ db: target, listenUrl: null, role: "silent", log });
      silent.notify("run_done", newId());
      await silent.close(); // sends what is waiting
      enableFaults("");
    }
    const id = newId();
    notifications.notify("run_done", id);
    await until(() => received.length > 0);
    expect(received).toEqual([[id]]);
  });

  test("that wait when the process stops are still sent", async () => {
    const { received } = await listen("one");
    const notifications = createNotifications({ db, listenUrl: null, role: "stopping", log });
    const id = newId();
    notifications.notify("run_done", id);
    await notifications.close();
    await until(() => received.length > 0);
    expect(received).toEqual([[id]]);
  });
});

test("a listener that is closed while it connects leaves no connection", async () => {
  const connections = () =>
    db.query("select 1 from pg_stat_activity where application_name like 'promptd:hasty-listen:%'");
  const notifications = createNotifications({ db, listenUrl: database.url, role: "hasty", log });
  await notifications.close();
  await until(async () => (await connections()).length === 0); // its backend ends a moment after it
  const late = createNotifications({ db, listenUrl: database.url, role: "hasty", log });
  late.listen("run_done", () => {});
  await until(async () => (await connections()).length === 1);
  await late.close();
  await until(async () => (await connections()).length === 0);
  expect(await connections()).toEqual([]);
});
