import type { Database } from "./database/database.ts";
import { createFailureLog, type FailureLog, type Log } from "./log.ts";
import { systemClock } from "./clock.ts";
import { createCounter, createGauge } from "./metrics/metrics.ts";
import { settleWithin } from "./resilience/deadline.ts";
import { shareCalls } from "./resilience/share-calls.ts";

/** Work that is due periodically in the whole installation: one process wins each run and does everything overdue. */
export interface Tick {
  /** In lower case, with hyphens: it is in the log and a label of metrics. */
  readonly name: string;
  readonly everySeconds: number;
  /** @param stop aborted when the process stops: work of many steps ends after its current step. */
  run(stop?: AbortSignal): Promise<void>;
}

/**
 * Does work in batches, so that no statement or lock takes long, until a batch is not full or the process stops.
 * @param work does one batch and returns how much it has done.
 * @returns how much was done in total.
 */
export async function doInBatches(batch: number, work: () => Promise<number>, stop?: AbortSignal): Promise<number> {
  let done = 0;
  for (let isFull = true; isFull;) {
    if (stop?.aborted === true) break;
    const last = await work();
    done += last;
    isFull = last >= batch;
  }
  return done;
}

export interface Ticks {
  /** Begins the ticks that are due and that no other process takes; a timer calls it once a second. */
  poll(): Promise<void>;
  /** Resolves when no work is running, or when the remaining work has ignored the stop for too long. */
  stop(): Promise<void>;
}

/** When each tick last succeeded, in Unix time. */
const successes = new Map<string, number>();
createGauge(
  {
    name: "promptd_tick_last_success_timestamp_seconds",
    help: "When this process last finished a kind of periodic work, in Unix time. One process of the installation does it at a time.",
  },
  ["tick"],
).from(() => [...successes].map(([name, seconds]) => [[name], seconds]));
const tickFailures = createCounter(
  { name: "promptd_tick_failures_total", help: "Periodic work that failed in this process." },
  ["tick"],
);

const POLL_MS = 1_000;
/** Enough for one step of work: a statement takes at most 5 s, and usually milliseconds. */
const STOP_TIMEOUT_MS = 5_000;

/**
 * Polls for due ticks once a second. Ticks run independently, so that a long tick does not delay the others. A tick
 * that fails is logged and runs again when it is next due.
 */
export async function startTicks(
  db: Database,
  ticks: readonly Tick[],
  log: Log,
  { stopTimeoutMs }: { readonly stopTimeoutMs: number } = { stopTimeoutMs: STOP_TIMEOUT_MS },
): Promise<Ticks> {
  await db.query(
    `insert into cron_ticks (name, every, next_at)
     select name, make_interval(secs => seconds), promptd_now()
     from unnest($1::text[], $2::float8[]) tick (name, seconds) order by name
     on conflict (name) do update set every = excluded.every`,
    [ticks.map(({ name }) => name), ticks.map(({ everySeconds }) => everySeconds)],
  );
  const stopping = new AbortController();
  const running = new Map<Tick, Promise<void>>();
  const fails = "due periodic work cannot be read from the database; retrying every second";
  const claims = createFailureLog(log, fails, "due periodic work can be read from the database again");
  const poll = shareCalls(async () => {
    const idle = ticks.filter((tick) => !running.has(tick));
    for (const tick of await takeDueTicks(db, idle, claims)) {
      const run = runTick(tick, log, stopping.signal).finally(() => running.delete(tick));
      running.set(tick, run);
    }
  });
  const timer = setInterval(() => void poll(), POLL_MS);
  timer.unref();
  return {
    poll,
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await poll.untilIdle();
      if (await settleWithin(running.values(), stopTimeoutMs)) return;
      const left = [...running.keys()].map(({ name }) => name);
      log.warn({ ticks: left }, "periodic work did not finish in time and was abandoned");
    },
  };
}

/** Returns the due ticks that this process has won. */
async function takeDueTicks(db: Database, ticks: readonly Tick[], claims: FailureLog): Promise<Tick[]> {
  try {
    const statement = { name: "ticks_claim", text: "select name from ticks_claim($1) name" };
    const rows = await db.query<{ name: string }>(statement, [ticks.map(({ name }) => name)]);
    claims.worked();
    const taken = new Set(rows.map(({ name }) => name));
    return ticks.filter(({ name }) => taken.has(name));
  } catch (error) {
    claims.failed(error);
    return [];
  }
}

async function runTick(tick: Tick, log: Log, stop: AbortSignal): Promise<void> {
  try {
    await tick.run(stop);
    successes.set(tick.name, systemClock.nowMs() / 1_000);
  } catch (error) {
    if (stop.aborted && error === stop.reason) return; // this process is stopping; another process runs the tick when it is next due
    tickFailures.add([tick.name]);
    log.error({ err: error, tick: tick.name }, "periodic work failed; it runs again when it is next due");
  }
}
