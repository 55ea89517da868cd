import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "./database/database.ts";
import type { Log } from "./log.ts";

/** Work that is due every so often in the whole installation: one process wins each turn and does all that is overdue. */
export interface Tick {
  readonly name: string;
  readonly everySeconds: number;
  /** @param stop aborted when the process stops: work of many steps ends after the one it is at. */
  run(stop?: AbortSignal): Promise<void>;
}

export interface Ticks {
  /** Resolves when no work is under way, or when what is left has not heeded the stop. */
  stop(): Promise<void>;
}

const LOOK_MS = 1_000;
/** A step of heedful work takes less: a statement 5 s at most, and mostly milliseconds. */
const PATIENCE_MS = 5_000;

/**
 * Starts looking for due ticks once a second. Each has turns of its own, so that a long one keeps no other waiting. A
 * tick that fails is logged and comes again at its next turn.
 */
export async function startTicks(
  db: Database,
  ticks: readonly Tick[],
  log: Log,
  { patienceMs }: { readonly patienceMs: number } = { patienceMs: PATIENCE_MS },
): Promise<Ticks> {
  for (const { name, everySeconds } of ticks) {
    await db.query(
      `insert into cron_ticks (name, every, next_at) values ($1, make_interval(secs => $2), promptd_now())
       on conflict (name) do update set every = excluded.every`,
      [name, everySeconds],
    );
  }
  const stopping = new AbortController();
  const turns = new Map<Tick, Promise<void>>();
  let looking: Promise<void> | null = null;
  const look = async (): Promise<void> => {
    const idle = ticks.filter((tick) => !turns.has(tick));
    for (const tick of await takeDueTicks(db, idle, log)) {
      const turn = runTick(tick, log, stopping.signal).finally(() => turns.delete(tick));
      turns.set(tick, turn);
    }
  };
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = null;
    });
  }, LOOK_MS);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await looking;
      const patience = new AbortController();
      const tooLong = wait(patienceMs, null, { signal: patience.signal }).catch(() => {});
      await Promise.race([Promise.all(turns.values()), tooLong]);
      patience.abort();
      const left = [...turns.keys()].map(({ name }) => name);
      if (left.length > 0) log.warn({ ticks: left }, "periodic work did not end in time and is left behind");
    },
  };
}

/** Runs what is due now. Exported for tests, which do not wait for the timer. */
export async function runDueTicks(db: Database, ticks: readonly Tick[], log: Log): Promise<void> {
  const due = await takeDueTicks(db, ticks, log);
  await Promise.all(due.map((tick) => runTick(tick, log, new AbortController().signal)));
}

/** Those whose turn this process has won. */
async function takeDueTicks(db: Database, ticks: readonly Tick[], log: Log): Promise<Tick[]> {
  try {
    const statement = { name: "ticks_claim", text: "select name from ticks_claim($1) name" };
    const rows = await db.query<{ name: string }>(statement, [ticks.map(({ name }) => name)]);
    const taken = new Set(rows.map(({ name }) => name));
    return ticks.filter(({ name }) => taken.has(name));
  } catch (error) {
    log.error({ err: error }, "the database did not say which periodic work is due; it is asked again");
    return [];
  }
}

async function runTick(tick: Tick, log: Log, stop: AbortSignal): Promise<void> {
  try {
    await tick.run(stop);
  } catch (error) {
    log.error({ err: error, tick: tick.name }, "periodic work failed; it comes again at its next turn");
  }
}
