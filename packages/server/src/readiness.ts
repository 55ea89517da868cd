import type { AppServices } from "./app-services.ts";
import { isStandby } from "./platform/database/errors.ts";
import { reasonOf } from "./platform/reason-of.ts";
import { shareCalls } from "./platform/resilience/share-calls.ts";

/** Processes order runs and expire URLs by their own clocks. */
const CLOCK_DIFFERENCE_MS_MAX = 5_000;

const SWITCHED_OFF = "select name from pg_settings where setting = 'off' and name = any($1)";
/** Locks no row, but fails when the server cannot write, because it has become a standby. */
const AS_A_WRITE = "exists (select from installation_facts where false for share)";
/** The longest lease. Until it ends, a worker that died silently still counts, and so does one cut off by an outage. */
const HAS_WORKER = `exists (select from workers where heartbeat_at > promptd_now() - interval '1 min') as "hasWorker"`;
const ASK = `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs", array(${SWITCHED_OFF}) as "switchedOff", ${HAS_WORKER}, ${AS_A_WRITE}`;
const NO_WORKER = "no worker is running; runs wait until a process with the role worker or all is started";
const DURABILITY = ["fsync", "full_page_writes", "synchronous_commit"];

interface ReadinessOptions extends Pick<AppServices, "role" | "log" | "db" | "clock"> {
  readonly files: Pick<AppServices["files"], "isReady" | "isShared">;
  readonly search: Pick<AppServices["search"], "isLoaded" | "warm">;
}

/**
 * Ready means: the database responds and accepts writes, its clock agrees with ours, files can be stored, and search,
 * which a worker does not need, is loaded. Each detail is "ok" or says what is wrong. A bucket that rejects files does
 * not make a process unready: it is the same for all processes, and a load balancer would have none left for requests
 * that need no files. Weakened durability does not either, nor does a missing worker, which only an API process checks
 * for.
 */
export function createReadiness({ role, log, db, clock, files, search }: ReadinessOptions) {
  let logged = "";

  async function askDatabase() {
    const askedMs = clock.nowMs();
    try {
      const [row] = await db.query<{ nowMs: number; switchedOff: string[]; hasWorker: boolean }>(ASK, [DURABILITY]);
      const clocks = compareClocks(row?.nowMs ?? askedMs, askedMs, clock.nowMs());
      const workers = role !== "api" ? {} : { workers: row?.hasWorker === false ? NO_WORKER : "ok" };
      const problems = { database: "ok", clock: clocks, ...workers };
      return { problems, switchedOff: { switchedOff: row?.switchedOff ?? [] } };
    } catch (error) {
      const database = isStandby(error) ? "does not accept writes" : "unreachable";
      return { problems: { database }, switchedOff: {}, reason: reasonOf(error) };
    }
  }

  function logState(wrong: Readonly<Record<string, string>>, ready: boolean, reason: string | undefined): void {
    if (!ready) log.warn({ ...wrong, reason }, "not ready");
    else if (Object.keys(wrong).length > 0) log.warn(wrong, "ready, but degraded");
    else log.info("ready again");
  }

  return async () => {
    if (role !== "worker") void search.warm(); // now, because this caller waits for it
    const [{ problems, switchedOff, reason }, canStore] = await Promise.all([askDatabase(), files.isReady()]);
    const checks = {
      ...problems,
      files: canStore ? "ok" : "cannot be stored",
      ...(role === "worker" ? {} : { search: search.isLoaded() ? "ok" : "loading" }),
    };
    const wrong = Object.entries(checks).filter(([, text]) => text !== "ok");
    const names = wrong.map(([name]) => name);
    const degraded = names.filter((name) => name === "workers" || (name === "files" && files.isShared));
    const ready = wrong.length === degraded.length;
    if (names.join() !== logged) logState(Object.fromEntries(wrong), ready, reason);
    logged = names.join();
    return { ready, details: { role, ...checks, degraded, ...switchedOff } };
  };
}

export type Readiness = ReturnType<typeof createReadiness>;

/** Rare enough to cost nothing, and late enough for a worker that starts together with this process. */
const WATCH_MS = 15_000;

/** Logs what is wrong even when nobody requests /readyz. @returns a function that ends it. */
export function watchReadiness(check: () => Promise<unknown>, everyMs = WATCH_MS): () => Promise<void> {
  const checkOnce = shareCalls(check);
  const timer = setInterval(() => void checkOnce(), everyMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await checkOnce.untilIdle();
  };
}

/** The database read its clock between our two readings, so a slow response does not count as a difference. */
function compareClocks(databaseMs: number, askedMs: number, answeredMs: number): string {
  const aheadMs = Math.max(askedMs - databaseMs, 0) + Math.min(answeredMs - databaseMs, 0);
  if (Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MS_MAX) return "ok";
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  return `${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the database's clock`;
}
