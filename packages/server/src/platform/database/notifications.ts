/**
 * Notifications between processes: coalesced NOTIFY out, one LISTEN connection in. Nothing depends on a notification:
 * every reader also polls once a second, so all of them may be lost. NOTIFY never runs in a business transaction,
 * because a commit with NOTIFY takes a global lock (measured 2026-11: 3.7 to 4.2 times fewer commits). While no other
 * process listens, nothing is sent and only the listeners of this process are called.
 */
import { randomUUID } from "node:crypto";
import { openConnection, type Queryable } from "./database.ts";
import { faultPoint } from "../fault-injection.ts";
import { createFailureLog, type Log } from "../log.ts";
import { settleWithin, sleep } from "../resilience/deadline.ts";
import { fullJitterDelayMs, retry } from "../resilience/retry.ts";
import { isPooled } from "./pooler.ts";

type Channel = "run_ready" | "batch_ready" | "run_done" | "run_cancel" | "run_text" | "search_changed";
type Listener = (ids: readonly string[]) => void;

export interface Notifications {
  /**
   * Sends one notification for all calls within a few milliseconds, also to the listeners of this process. A failure is
   * only logged.
   */
  notify(channel: Channel, id?: string): void;
  /** Does the same, but skips the listeners of this process, for work that it has already done itself. */
  notifyOthers(channel: Channel): void;
  listen(channel: Channel, listener: Listener): void;
  /** Registers a poll to run after every reconnect, because notifications sent meanwhile are lost. */
  onGap(poll: () => void): void;
  close(): Promise<void>;
}

const COALESCE_MS = 3;
const IDS_PER_NOTIFY = 200; // 7.4 kB; a payload must stay under 8,000 bytes
const PROBE_MS = 10_000;
const RECONNECT = { baseMs: 100, capMs: 5_000 };
const CHECK_CHANNEL = "listener_check";
/** Also true if this connection does not find itself, as behind a pooler that hides the name of its clients. */
const DO_OTHERS_LISTEN = `select coalesce(bool_or(pid <> pg_backend_pid()) or not bool_or(pid = pg_backend_pid()), true) as others
  from pg_stat_activity where datname = current_database() and application_name like 'promptd:%-listen:%'`;
/** A notification usually takes a millisecond or two; a busy database may take seconds. */
const CHECK_MS = 5_000;

export interface NotificationsOptions {
  readonly db: Queryable;
  /** The server itself, because LISTEN does not work through a transaction pooler; null: polling only. */
  readonly listenUrl: string | null;
  readonly role: string;
  readonly log: Log;
}

export function createNotifications(options: NotificationsOptions): Notifications {
  const listeners = new Map<Channel, Listener[]>();
  const gapListeners: (() => void)[] = [];
  /** Distinguishes this process's notifications from those of other processes. */
  const self = randomUUID();
  const named = { ...options, self };
  const { listenUrl } = options;
  const connection = listenUrl === null ? null : listenOn(listenUrl, named, { receive, gap });
  const notifier = createNotifier(named, () => connection?.othersListen() ?? true, receive);

  function receive(channel: string, payload: string): void {
    if (payload === self) return;
    const ids = payload === "" ? [] : payload.split(",");
    for (const listener of listeners.get(channel as Channel) ?? []) listener(ids);
  }
  function gap(): void {
    for (const poll of gapListeners) poll();
  }
  return {
    notify: notifier.notify,
    notifyOthers: notifier.notifyOthers,
    listen: (channel, listener) => {
      listeners.set(channel, [...(listeners.get(channel) ?? []), listener]);
      connection?.subscribe(channel);
    },
    onGap: (poll) => gapListeners.push(poll),
    close: async () => {
      await notifier.flush();
      await connection?.close();
    },
  };
}

type Receive = (channel: string, payload: string) => void;

function createNotifier({ db, log, self }: NamedOptions, othersListen: () => boolean, receive: Receive) {
  /** Null: only for other processes. */
  const waiting = new Map<Channel, Set<string> | null>();
  const failures = createFailureLog(
    log,
    "could not send notifications; readers poll instead",
    "notifications can be sent again",
  );
  let timer: NodeJS.Timeout | null = null;

  async function flush(): Promise<void> {
    timer = null;
    const due = [...waiting].flatMap(([channel, ids]) => {
      const payloads = ids === null ? [self] : chunks([...ids]).map((chunk) => chunk.join(","));
      return payloads.map((payload) => ({ channel, payload }));
    });
    waiting.clear();
    if (due.length === 0 || (await faultPoint("notify.send")) === "skip") return;
    if (!othersListen()) return due.forEach(({ channel, payload }) => receive(channel, payload));
    await db
      .query({ name: "notify", text: "select pg_notify(c, p) from unnest($1::text[], $2::text[]) t(c, p)" }, [
        due.map(({ channel }) => channel),
        due.map(({ payload }) => payload),
      ])
      .then(failures.worked, failures.failed);
  }
  function schedule(channel: Channel, ids: Set<string> | null): void {
    waiting.set(channel, ids);
    timer ??= setTimeout(() => void flush(), COALESCE_MS);
  }
  return {
    notify: (channel: Channel, id?: string) => {
      const ids = waiting.get(channel) ?? new Set<string>();
      schedule(channel, id === undefined ? ids : ids.add(id));
    },
    notifyOthers: (channel: Channel) => schedule(channel, waiting.get(channel) ?? null),
    flush,
  };
}

function chunks(ids: readonly string[]): string[][] {
  if (ids.length === 0) return [[]];
  const count = Math.ceil(ids.length / IDS_PER_NOTIFY);
  return Array.from({ length: count }, (_, i) => ids.slice(i * IDS_PER_NOTIFY, (i + 1) * IDS_PER_NOTIFY));
}

type Listening = ReturnType<typeof openConnection>;

/** Tracks whether other processes listen. A new listener's check announces it; the next probe notices who has left. */
function createOthers() {
  let listen = true;
  let arrivals = 0;
  return {
    listen: () => listen,
    arrive: () => {
      listen = true;
      arrivals += 1;
    },
    ask: async (opened: Listening) => {
      const arrivalsBefore = arrivals;
      const { rows } = await opened.query<{ others: boolean }>(DO_OTHERS_LISTEN);
      listen = rows[0]?.others !== false || arrivals > arrivalsBefore;
    },
  };
}

const CANNOT_CONNECT = "the notification listener cannot connect; retrying, and readers poll meanwhile";

interface NamedOptions extends NotificationsOptions {
  readonly self: string;
}

/** Sends a new listener a notification. @returns false if no notification will ever arrive. */
async function isWorthOpen(
  opened: Listening,
  arrived: Promise<boolean>,
  { db, log, self }: NamedOptions,
): Promise<boolean> {
  await db.query("select pg_notify($1, $2)", [CHECK_CHANNEL, self]);
  if (await settleWithin([arrived], CHECK_MS)) {
    if (await arrived) log.debug("notifications arrive");
    return true;
  }
  if (!(await isPooled(opened))) {
    log.warn({ afterMs: CHECK_MS }, "a database notification did not arrive in time; readers poll meanwhile");
    return true;
  }
  log.warn(
    "notifications do not arrive through the pooler, so each run takes up to a second longer; set DATABASE_DIRECT_URL to the address of the server itself",
  );
  await opened.query("unlisten *"); // reaches the same session if nobody else has used it
  return false;
}

/**
 * Maintains one LISTEN connection: probes it, and opens a new one if it was lost. Through a pooler that gives the
 * session away after each transaction, nothing ever arrives: then the listener ends, and readers poll.
 */
function listenOn(url: string, options: NamedOptions, on: { receive: Receive; gap: () => void }) {
  const { role, self } = options;
  const channels = new Set<string>([CHECK_CHANNEL]);
  const closing = new AbortController();
  const { signal } = closing;
  /** The current listener; null between two connections. */
  let client: Listening | null = null;
  /** Sends one statement after another, because a client supports only one at a time. */
  let sent: Promise<unknown> = Promise.resolve();
  const send = (work: (opened: Listening) => Promise<unknown>): Promise<unknown> =>
    (sent = sent.catch(() => {}).then(() => client && work(client)));
  const others = createOthers();
  const failures = createFailureLog(options.log, CANNOT_CONNECT, "the notification listener is connected again");
  const probe = setInterval(() => void send(others.ask).catch(() => client?.end()), PROBE_MS).unref();

  /** `ended` resolves when the opened connection has ended, however soon that is. */
  async function connect(): Promise<{ readonly ended: Promise<void> }> {
    const opening = openConnection(url, `${role}-listen`, {}); // without limits, which a pooler refuses; its statements take no time
    const ended = new Promise<void>((resolve) => opening.once("end", resolve));
    const checked = Promise.withResolvers<boolean>();
    // The check can no longer arrive. Assume that others listen, because this process no longer hears from them.
    void ended.then(others.arrive).then(() => checked.resolve(false));
    opening.on("notification", (message) => {
      if (message.channel !== CHECK_CHANNEL) return on.receive(message.channel, message.payload ?? "");
      checked.resolve(true);
      if (message.payload !== self) others.arrive();
    });
    try {
      await opening.connect();
      for (const channel of channels) await opening.query(`listen ${channel}`); // also channels added meanwhile
      void endIfUseless(opening, checked.promise).catch(() => {}); // the database was lost; the next connection is checked too
    } catch (error) {
      void opening.end().catch(() => {}); // half a listener must not remain next to its successor
      throw error;
    }
    client = opening;
    return { ended };
  }
  async function endIfUseless(opened: Listening, arrived: Promise<boolean>): Promise<void> {
    if (await isWorthOpen(opened, arrived, options)) return void (await send(others.ask));
    closing.abort();
    await opened.end();
  }
  async function listenUntilClosed(): Promise<void> {
    let hasGap = false;
    const onRetry = (error: unknown) => {
      hasGap = true;
      failures.failed(error);
    };
    while (!signal.aborted) {
      const { ended } = await retry(connect, { on: () => true, backoff: RECONNECT, signal, onRetry });
      failures.worked();
      if (hasGap) on.gap();
      hasGap = true;
      if (signal.aborted) await client?.end();
      await ended;
      client = null;
      await sleep(fullJitterDelayMs(1, RECONNECT), signal);
    }
  }
  const listening = listenUntilClosed().catch(() => {}); // rejects only when it is closed
  return {
    othersListen: others.listen,
    subscribe: (channel: Channel) => {
      channels.add(channel);
      void send((opened) => opened.query(`listen ${channel}`)).catch(() => {});
    },
    close: async () => {
      closing.abort();
      clearInterval(probe);
      await client?.end();
      await listening; // an opening connection would keep the process alive
    },
  };
}
