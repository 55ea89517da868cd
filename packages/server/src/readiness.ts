import type { Parts } from "./app-parts.ts";
import { reasonOf } from "./platform/reason-of.ts";

/** Runs are ordered by the processes' clocks, and addresses expire by them. */
const CLOCK_DIFFERENCE_MS_MAX = 5_000;

const SWITCHED_OFF = "select name from pg_settings where setting = 'off' and name = any($1)";
const ASK = `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs", array(${SWITCHED_OFF}) as "switchedOff"`;
const DURABILITY = ["fsync", "full_page_writes", "synchronous_commit"];

interface ReadinessOptions extends Pick<Parts, "db" | "clock"> {
  readonly options: Pick<Parts["options"], "role" | "log">;
  readonly files: Pick<Parts["files"], "isReady">;
  readonly search: Pick<Parts["search"], "isLoaded">;
}

/**
 * Ready: the database answers, its clock agrees with ours, files can be stored, and search is loaded. Each detail is "ok"
 * or says what is wrong. What weakens durability is reported but does not make a process unready.
 */
export function createReadiness({ options, db, clock, files, search }: ReadinessOptions) {
  const { role, log } = options;
  let logged = "";

  async function askDatabase() {
    const askedMs = clock.nowMs();
    try {
      const [row] = await db.query<{ nowMs: number; switchedOff: string[] }>(ASK, [DURABILITY]);
      const clocks = compareClocks(row?.nowMs ?? askedMs, askedMs, clock.nowMs());
      return { problems: { database: "ok", clock: clocks }, switchedOff: { switchedOff: row?.switchedOff ?? [] } };
    } catch (error) {
      return { problems: { database: "unreachable" }, switchedOff: {}, reason: reasonOf(error) };
    }
  }

  return async () => {
    const [{ problems, switchedOff, reason }, canStore] = await Promise.all([askDatabase(), files.isReady()]);
    const checks = {
      ...problems,
      files: canStore ? "ok" : "cannot be stored",
      search: search.isLoaded() ? "ok" : "loading",
    };
    const wrong = Object.entries(checks).filter(([, text]) => text !== "ok");
    const names = wrong.map(([name]) => name).join();
    if (names !== logged && wrong.length > 0) log.warn({ ...Object.fromEntries(wrong), reason }, "not ready");
    if (names !== logged && wrong.length === 0) log.info("ready again");
    logged = names;
    return { ready: wrong.length === 0, details: { role, ...checks, ...switchedOff } };
  };
}

/** The database read its clock at some moment between the two of ours, so that a slow answer is not a difference. */
function compareClocks(databaseMs: number, askedMs: number, answeredMs: number): string {
  const aheadMs = Math.max(askedMs - databaseMs, 0) + Math.min(answeredMs - databaseMs, 0);
  if (Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MS_MAX) return "ok";
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  return `${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the database's clock`;
}
