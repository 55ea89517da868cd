/**
 * Stops the server when nobody uses it. Every promptd process has connections named `promptd:<role>:<pid>`,
 * and the last process stops the server. Runs under the start lock, so that no process joins between the count and the
 * stop.
 */
import type { Log } from "../log.ts";
import { pollUntil } from "../resilience/deadline.ts";
import { tryConnect, type Session } from "./launch.ts";
import { removeSocketLink, type ClusterFiles } from "./files.ts";
import { findPostmaster, waitForEnd } from "./postmaster.ts";

const OWN_MS_MAX = 5_000;
const STOP_MS_MAX = 10_000;
const POLL_MS = 20;

export async function stopUnlessUsed(files: ClusterFiles, log: Log): Promise<void> {
  const session = await connectToStop(files);
  if (session === null) return;
  try {
    if (await hasOtherUsers(session)) return;
  } finally {
    await session.end();
  }
  const pid = await findPostmaster(files.clusterDir);
  if (pid === null) return;
  process.kill(pid, "SIGINT"); // fast shutdown: ends connections, writes a checkpoint. Never SIGKILL.
  if (await waitForEnd(files.clusterDir, pid, STOP_MS_MAX)) {
    await removeSocketLink(files);
    log.info({ dataDir: files.dataDir }, "database stopped");
  } else {
    log.warn({ pid }, "the database is still shutting down; it will finish on its own");
  }
}

/** Connects to the server, which may still be starting; null: there is none, or it does not answer. */
async function connectToStop(files: ClusterFiles): Promise<Session | null> {
  const ask = async () => {
    const tried = await tryConnect(files, "stop");
    if (typeof tried !== "string") return tried;
    return tried === "no server" && (await findPostmaster(files.clusterDir)) === null ? tried : null;
  };
  const found = await pollUntil(ask, { everyMs: POLL_MS, timeoutMs: STOP_MS_MAX });
  return typeof found === "string" ? null : found;
}

/**
 * Whether other processes use the server. Our own connections are closed by now, but their server processes end a
 * moment later. Wait for them, so that the next process to stop does not take them for a user and leave the server
 * running.
 */
async function hasOtherUsers(session: Session): Promise<boolean> {
  let hasOthers = false;
  const haveOwnEnded = async () => {
    const { rows } = await session.query<{ own: number; others: number }>(
      `select (count(*) filter (where split_part(application_name, ':', 3) = $1))::int as own,
              (count(*) filter (where split_part(application_name, ':', 3) <> $1))::int as others
       from pg_stat_activity where application_name like 'promptd:%' and application_name not like 'promptd:stop:%'`,
      [String(process.pid)],
    );
    const { own = 0, others = 0 } = rows[0] ?? {};
    hasOthers = others > 0;
    return own === 0 ? true : null;
  };
  await pollUntil(haveOwnEnded, { everyMs: POLL_MS, timeoutMs: OWN_MS_MAX });
  return hasOthers;
}
