import type { AppServices } from "./app-services.ts";
import { isStandby } from "./platform/database/errors.ts";
import { reasonOf } from "./platform/reason-of.ts";

/** Runs are ordered by the processes' clocks, and addresses expire by them. */
const CLOCK_DIFFERENCE_MS_MAX = 5_000;

const SWITCHED_OFF = "select name from pg_settings where setting = 'off' and name = any($1)";
/** Locks no row, and is refused where nothing can be written: the connection leads to a server that is a standby by now. */
const AS_A_WRITE = "exists (select from installation_facts where false for share)";
/** The longest lease: a worker that has ended without a word counts as one until then, and so does one of an outage. */
const HAS_WORKER = `exists (select from workers where heartbeat_at > promptd_now() - interval '1 min') as "hasWorker"`;
const ASK = `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs", array(${SWITCHED_OFF}) as "switchedOff", ${HAS_WORKER}, ${AS_A_WRITE}`;
const NO_WORKER = "none runs: runs wait until a process with the role worker or all is started";
const DURABILITY = ["fsync", "full_page_writes", "synchronous_commit"];

interface ReadinessOptions extends Pick<AppServices, "role" | "log" | "db" | "clock"> {
  readonly files: Pick<AppServices["files"], "isReady" | "isShared">;
  readonly search: Pick<AppServices["search"], "isLoaded" | "warm">;
}

/**
 * Ready: the database answers and takes writes, its clock agrees with ours, files can be stored, and search is loaded.
 * Each detail is "ok" or says what is wrong. A bucket that takes no files makes no process unready: it is the same for
 * all of them, and a load balancer would have nobody left for what needs no files. Neither does what weakens durability,
 * nor that no worker runs, for which only a process that is none itself has to look.
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
      const database = isStandby(error) ? "takes no writes" : "unreachable";
      return { problems: { database }, switchedOff: {}, reason: reasonOf(error) };
    }
  }

  function logState(wrong: Readonly<Record<string, string>>, ready: boolean, reason: string | undefined): void {
    if (!ready) log.warn({ ...wrong, reason }, "not ready");
    else if (Object.keys(wrong).length > 0) log.warn(wrong, "ready, with less than usual");
    else log.info("ready again");
  }

  return async () => {
    void search.warm(); // at once, since this caller waits for it
    const [{ problems, switchedOff, reason }, canStore] = await Promise.all([askDatabase(), files.isReady()]);
    const checks = {
      ...problems,
      files: canStore ? "ok" : "cannot be stored",
      search: search.isLoaded() ? "ok" : "loading",
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

/** Seldom enough to cost nothing, and late enough for a worker that starts beside this process. */
const WATCH_MS = 15_000;

/** Has the log say what is wrong also where nobody asks for /readyz. @returns what ends it. */
export function watchReadiness(check: () => Promise<unknown>, everyMs = WATCH_MS): () => Promise<void> {
  let checking: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    checking ??= check().finally(() => {
      checking = null;
    });
  }, everyMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await checking;
  };
}

/** The database read its clock at some moment between the two of ours, so that a slow answer is not a difference. */
function compareClocks(databaseMs: number, askedMs: number, answeredMs: number): string {
  const aheadMs = Math.max(askedMs - databaseMs, 0) + Math.min(answeredMs - databaseMs, 0);
  if (Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MS_MAX) return "ok";
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  return `${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the database's clock`;
}
