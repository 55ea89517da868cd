import type { Database } from "./database.ts";
import type { Log } from "./log.ts";

/** Work that is due every so often in the whole installation: one process wins each turn and does all that is overdue. */
export interface Tick {
  readonly name: string;
  readonly everySeconds: number;
  run(): Promise<void>;
}

const LOOK_MS = 1_000;

/** Starts looking for due ticks once a second. A tick that fails is logged and comes again at its next turn. */
export async function startTicks(db: Database, ticks: readonly Tick[], log: Log): Promise<{ stop(): Promise<void> }> {
  for (const { name, everySeconds } of ticks) {
    await db.query(
      `insert into cron_ticks (name, every, next_at) values ($1, make_interval(secs => $2), promptd_now())
       on conflict (name) do update set every = excluded.every`,
      [name, everySeconds],
    );
  }
  let turn: Promise<void> | null = null;
  const timer = setInterval(() => {
    turn ??= runDueTicks(db, ticks, log).finally(() => {
      turn = null;
    });
  }, LOOK_MS);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await turn;
    },
  };
}

/** Runs what is due now, one after another. Exported for tests, which do not wait for the timer. */
export async function runDueTicks(db: Database, ticks: readonly Tick[], log: Log): Promise<void> {
  for (const tick of ticks) {
    try {
      const [row] = await db.query<{ taken: boolean }>({ name: "cron_take", text: "select cron_take($1) as taken" }, [
        tick.name,
      ]);
      if (row?.taken === true) await tick.run();
    } catch (error) {
      log.error({ err: error, tick: tick.name }, "periodic work failed; it comes again at its next turn");
    }
  }
}
