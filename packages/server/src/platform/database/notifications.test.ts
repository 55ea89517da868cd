import { setTimeout as wait } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openTestDatabase, type OpenTestDatabase } from "../../../test/support/test-database.ts";
import { systemClock } from "../clock.ts";
import { openConnection, type Database, type Queryable } from "./database.ts";
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

function open(role: string, listenUrl: string | null = database.url, sender: Queryable = db): Notifications {
  const notifications = createNotifications({ db: sender, listenUrl, role, log });
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

/** Backends that listen for this role; the listener connects in the background, and listens to its own channel first. */
async function listeners(role: string): Promise<number[]> {
  const rows = await db.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name like $1 and query ~ '^(listen run_|select coalesce)' and state = 'idle'",
    [`promptd:${role}-listen:%`],
  );
  return rows.map((row) => row.pid);
}

/** The backend of the one listener, which is active for a moment now and then. */
async function listenerOf(role: string): Promise<number | undefined> {
  let pids: number[] = [];
  await until(async () => (pids = await listeners(role)).length === 1);
  return pids[0];
}

/** Collects what a process receives on a channel, once it listens. */
async function listen(
  role: string,
  sender?: Queryable,
): Promise<{ received: string[][]; notifications: Notifications; gaps: number[] }> {
  const [received, gaps]: [string[][], number[]] = [[], []];
  const notifications = open(role, database.url, sender);
  notifications.listen("run_done", (ids) => received.push([...ids]));
  notifications.onGap(() => gaps.push(1));
  await listenerOf(role);
  return { received, notifications, gaps };
}

interface Process {
  readonly received: string[][];
  readonly notifications: Notifications;
}

function heard({ received }: Process, id: string): number {
  return received.flat().filter((other) => other === id).length;
}

/** Two processes that know about each other: each has received what the other sent. @returns also what they sent. */
async function listenTogether() {
  const [one, two] = [await listen("one"), await listen("two")];
  const sent = new Set<string>();
  async function meet(sender: Process, receiver: Process): Promise<void> {
    const own = new Set<string>();
    await until(() => {
      const id = newId();
      own.add(id);
      sent.add(id);
      sender.notifications.notify("run_done", id);
      return receiver.received.flat().some((received) => own.has(received));
    });
  }
  await meet(one, two);
  await meet(two, one);
  return { one, two, sent };
}

function heardOthers({ received }: Process, known: ReadonlySet<string>): string[] {
  return received.flat().filter((id) => !known.has(id));
}

/** A process that has noticed that no other process listens. */
async function listenAlone() {
  let sent = 0;
  const query: Database["query"] = (statement, values) => {
    if (typeof statement === "object" && statement.name === "notify") sent += 1;
    return db.query(statement, values);
  };
  const one = await listen("one", { ...db, query });
  await until(async () => {
    const before = [sent, one.received.length];
    one.notifications.notify("run_done", newId());
    await until(() => one.received.length > Number(before[1]));
    return sent === before[0];
  });
  const before = sent;
  one.received.length = 0;
  return { one, statements: () => sent - before };
}

describe("notifications", () => {
  test("reach the other processes and their own, each id once, and only on their channel", async () => {
    const { one, two } = await listenTogether();
    const id = newId();
    one.notifications.notify("search_changed");
    one.notifications.notify("run_done", id);
    await until(() => heard(one, id) > 0 && heard(two, id) > 0);
    const last = newId();
    two.notifications.notify("run_done", last); // what is sent later arrives later
    await until(() => heard(one, last) > 0 && heard(two, last) > 0);
    expect([heard(one, id), heard(two, id)]).toEqual([1, 1]);
    expect([...one.received, ...two.received]).not.toContainEqual([]);
  });

  test("for other processes reach only those", async () => {
    const { one, two, sent } = await listenTogether();
    one.notifications.notifyOthers("run_done");
    await until(() => heardOthers(two, sent).length > 0);
    const id = newId();
    two.notifications.notify("run_done", id); // what is sent later arrives later
    await until(() => heard(one, id) > 0);
    expect(heardOthers(one, sent)).toEqual([id]);
  });

  test("for other processes do not suppress notifications for the process's own listeners at the same time", async () => {
    const one = await listen("one");
    one.notifications.notifyOthers("run_done");
    one.notifications.notify("run_done");
    await until(() => one.received.length > 0);
    expect(one.received).toEqual([[]]);
  });

  test("are not sent while no other process listens, but still reach the process's own listeners", async () => {
    const { one, statements } = await listenAlone();
    const [id, late] = [newId(), newId()];
    one.notifications.notify("run_done", id);
    await until(() => one.received.length > 0);
    expect(statements()).toBe(0);
    const two = await listen("two");
    await until(() => (one.notifications.notify("run_done", late), two.received.length > 0)); // its arrival is noticed at once
    expect(two.received[0]).toEqual([late]);
    expect(one.received[0]).toEqual([id]);
  });

  test("for other processes are not sent while no other process listens", async () => {
    const { one, statements } = await listenAlone();
    let changes = 0;
    one.notifications.listen("search_changed", () => (changes += 1));
    one.notifications.notifyOthers("run_done");
    one.notifications.notify("search_changed"); // goes with it
    await until(() => changes > 0);
    expect([one.received, statements()]).toEqual([[], 0]);
  });

  test("are sent again after the only listener lost its connection, because other processes may have started meanwhile", async () => {
    const { one, statements } = await listenAlone();
    const pid = await listenerOf("one");
    await db.query("select pg_terminate_backend($1)", [pid]);
    await until(() => (one.notifications.notify("run_done", newId()), statements() > 0));
    expect(statements()).toBeGreaterThan(0);
  });

  test("within a few milliseconds are one statement and one notification per channel", async () => {
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

  test("with very many ids are split so that every payload stays below PostgreSQL's 8,000 bytes", async () => {
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
    const pid = await listenerOf("one");
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

  test("arrive on a channel that is subscribed at any moment while connecting", async () => {
    const notifications = open("one");
    const channels = Array.from({ length: 100 }, (_, i) => `channel_${i}`);
    const reached = new Set<string>();
    for (const channel of channels) {
      notifications.listen(channel as "run_done", () => reached.add(channel));
      await db.query("select 1"); // about as long as the listener needs per channel
    }
    await until(async () => {
      await db.query("select pg_notify(c, '') from unnest($1::text[]) c", [channels]);
      return reached.size === channels.length;
    });
    expect([...reached].sort()).toEqual(channels.sort());
  });

  test("that cannot be sent disturb neither the caller nor the next notification", async () => {
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

  test("that are waiting when the process stops are still sent", async () => {
    const { received } = await listen("one");
    const notifications = createNotifications({ db, listenUrl: null, role: "stopping", log });
    const id = newId();
    notifications.notify("run_done", id);
    await notifications.close();
    await until(() => received.length > 0);
    expect(received).toEqual([[id]]);
  });
});

test("a listener that is closed while it connects leaves no connection behind", async () => {
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

test("an outage causes one warning from the listener and one from the sender, however often they retry", async () => {
  const levels = { listener: [] as number[], notifications: [] as number[] };
  const write = (line: string) => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    levels[msg.startsWith("the notification listener") ? "listener" : "notifications"].push(level);
  };
  const away: Queryable = { query: () => Promise.reject(new Error("away")) };
  const listenUrl = "postgresql://127.0.0.1:1/nobody";
  const notifications = createNotifications({
    db: away,
    listenUrl,
    role: "away",
    log: pino({ level: "debug" }, { write }),
  });
  onTestFinished(() => notifications.close());
  await until(() => {
    notifications.notify("run_ready");
    return Math.min(levels.listener.length, levels.notifications.length) >= 3;
  });
  for (const [first, ...others] of Object.values(levels)) {
    expect([first, new Set(others)]).toEqual([40, new Set([20])]);
  }
});
