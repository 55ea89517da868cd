/**
 * How statements reach the server: directly, or through a pooler such as PgBouncer in transaction mode, which gives
 * each transaction any of its own connections. Session state is lost there, such as time limits sent with a connection,
 * so the limits are sent with each transaction. promptd detects a pooler by asking, because an address does not reveal
 * it.
 */
import type { Client, ClientBase, Pool, QueryConfig, QueryResult } from "pg";
import { codeOf } from "../reason-of.ts";

/** A statement that takes longer is a fault, and a transaction left open holds up index cleanup. */
export const LIMITS = {
  statement_timeout: 5_000,
  lock_timeout: 3_000,
  idle_in_transaction_session_timeout: 10_000,
};
export type Limits = Readonly<Partial<typeof LIMITS>>;

/**
 * Returns the text that begins a transaction and sets its limits, in one message. With another isolation level, which a
 * database may have as its default, a statement would not see what committed while it waited for a lock.
 */
export function beginWithin(limits: Limits): string {
  const settings = Object.entries(limits).map(([name, ms]) => `; set local ${name} = ${Math.trunc(ms)}`);
  return `begin isolation level read committed${settings.join("")}`;
}

export interface Route {
  readonly isPooled: boolean;
  /** Whether statements can be prepared under a name: by the server itself, or by a pooler that tracks the names. */
  readonly keepsNames: boolean;
  /** What every new connection must send first, because the database's own defaults differ; null: nothing. */
  readonly firstStatement: string | null;
}

/** A pooler refuses limits that are sent with a connection unless it is configured to ignore them. */
export function isLimitsRefused(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/.test(error.message);
}

/** A pooler gives its clients numbers of its own; a server uses its process ids. */
export async function isPooled(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid !== (client as Client & { readonly processID: number | null }).processID;
}

/** @throws Error if limits do not even arrive with a transaction. */
export async function findRoute(pool: Pool): Promise<Route> {
  const client = await pool.connect();
  try {
    if (!(await isPooled(client))) return await findDirectRoute(client);
    await client.query(beginWithin(LIMITS));
    const { rows } = await client.query<{ ms: number }>(
      "select setting::int as ms from pg_settings where name = 'statement_timeout'",
    );
    await client.query("commit");
    if (rows[0]?.ms !== LIMITS.statement_timeout) {
      throw new Error("the pooler in front of it does not pass on transaction time limits");
    }
    return { isPooled: true, keepsNames: await keepsNames(client), firstStatement: null };
  } finally {
    client.release();
  }
}

/** Sets, for this connection, what the database's administrator may have changed for all programs. */
const USUAL_SETTINGS = "set default_transaction_isolation = 'read committed'; set datestyle = iso";

async function findDirectRoute(client: ClientBase): Promise<Route> {
  const { rows } = await client.query<{ isUsual: boolean }>(
    `select current_setting('default_transaction_isolation') = 'read committed'
       and current_setting('datestyle') like 'ISO%' as "isUsual"`,
  );
  const firstStatement = rows[0]?.isUsual === true ? null : USUAL_SETTINGS;
  if (firstStatement !== null) await client.query(firstStatement);
  return { isPooled: false, keepsNames: true, firstStatement };
}

const PROBE = "promptd_probe";
const NAME_IS_TAKEN = "42P05";

/** A pooler that tracks names prepares statements under its own names; any other pooler passes our names through. */
async function keepsNames(client: ClientBase): Promise<boolean> {
  await client.query("begin");
  try {
    const text = `select 1 from pg_prepared_statements where name = '${PROBE}'`;
    const { rowCount } = await client.query({ name: PROBE, text, values: [] });
    if (rowCount !== 0) await client.query(`deallocate ${PROBE}`);
    return rowCount === 0;
  } catch (error) {
    if (codeOf(error) !== NAME_IS_TAKEN) throw error;
    return false;
  } finally {
    await client.query("commit");
  }
}

/** Sends three messages and waits once, on a connection that does not wait for the previous statement. */
export async function runPipelined(client: ClientBase, limits: Limits, query: QueryConfig): Promise<QueryResult> {
  const [, result] = await Promise.all([
    client.query(beginWithin(limits)),
    client.query(query),
    client.query("commit"), // after a failed statement it rolls back
  ]);
  return result;
}
