/**
 * The one driver, with two kinds of connection (measured 2026-11: a pipelined connection answers point reads 1.8 times
 * as fast as a pool of eight). `pipelined` sends prepared single statements over two pipelined connections. These must
 * never wait for a hot row lock, because everything behind them would wait too. `query` and `tx` own a pool connection.
 */
import { Client, Pool, type ClientBase, type ClientConfig, type QueryConfig, type QueryResult } from "pg";
import {
  adviceOf,
  DatabaseUnusable,
  isRolledBack,
  isSerializationFailure,
  isUnresponsive,
  isStandby,
  NoConnectionFree,
  DatabaseUnresponsive,
} from "./errors.ts";
import { createGauge } from "../metrics/metrics.ts";
import { orAborted } from "../resilience/deadline.ts";
import { createSemaphore, type Semaphore } from "../resilience/semaphore.ts";
import type { Log } from "../log.ts";
import { CONNECT_TIMEOUT_MS, connectionSettings } from "./connection-settings.ts";
import { PipelinedConnection } from "./pipelined-connection.ts";
import { reasonOf } from "../reason-of.ts";
import { retry } from "../resilience/retry.ts";
import { beginWithin, findRoute, isLimitsRefused, LIMITS, runPipelined, type Limits, type Route } from "./pooler.ts";

/** A statement that runs often is prepared under a name, so that the server parses it once per connection. */
interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}
export type Statement = string | PreparedStatement;

export interface Queryable {
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

/** An open transaction, passed as the first argument where several slices must commit together. */
export interface Tx extends Queryable {
  readonly kind: "tx";
}

export interface TxOptions {
  /** Overrides the 5 s statement timeout; 0 turns it off. For migrations and bulk work only. */
  readonly statementTimeoutMs?: number;
  /** Overrides the 3 s lock timeout, which is short because others wait for the connection. */
  readonly lockTimeoutMs?: number;
  /** Ends the wait for a connection. */
  readonly signal?: AbortSignal;
}

export interface Database extends Queryable {
  /** Runs a prepared statement on the less busy pipelined connection; retries once if the connection was lost. */
  pipelined<Row extends object>(statement: PreparedStatement, values: readonly unknown[]): Promise<Row[]>;
  /** Runs a statement that the server cancels after `timeoutMs`, for requests that can be answered without it. */
  queryWithin<Row extends object>(timeoutMs: number, statement: Statement, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs one statement as its own transaction: one round trip, where `tx` needs three. Retries once after a
   * serialization failure or deadlock.
   */
  once<Row extends object>(
    statement: Statement,
    values?: readonly unknown[],
    options?: Pick<TxOptions, "signal">,
  ): Promise<Row[]>;
  /** Runs `work` in a read committed transaction; retries once after a serialization failure or deadlock. */
  tx<Result>(work: (tx: Tx) => Promise<Result>, options?: TxOptions): Promise<Result>;
  /**
   * Runs one statement that may take minutes and cannot run in a transaction, on its own connection and without a time
   * limit. `close` abandons it; the server may continue it.
   */
  runAlone(statement: string): Promise<void>;
  /** Detected when the database was opened. */
  readonly route: Route;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity as `promptd:<role>:<pid>`, by which the embedded launcher counts its users. */
  readonly role: string;
  readonly log: Log;
  readonly poolMax?: number;
  /** True: idle pool connections stay open; otherwise they are closed after ten seconds. */
  readonly staysOpen?: boolean;
  /** True: opens the pipelined connections at once, so that the first requests need not wait for them. */
  readonly opensAhead?: boolean;
  /** Ends the attempt to open the first connection. */
  readonly signal?: AbortSignal | undefined;
  /** In tests: how long a connection may take to open, and how long work may wait for a free one. */
  readonly times?: { readonly connectTimeoutMs: number; readonly busyMsMax: number };
}

const PIPELINED_CONNECTIONS = 2;
const POOL_MAX_DEFAULT = 8;
const IDLE_MS = 10_000;
/** A burst of a thousand creates waits a few seconds for the pool's connections; a longer wait is an error. */
const TIMES = { connectTimeoutMs: CONNECT_TIMEOUT_MS, busyMsMax: 30_000 };

/** The longest time that a timer supports: 24 days. */
const NO_QUERY_TIMEOUT_MS = 2_147_483_647;

const ONCE_MORE = { on: isSerializationFailure, attempts: 2 };

const CHECK_DATABASE =
  "Check that it is running, and check the address, database, user, and password that promptd uses.";

const connectionsByState = createGauge(
  {
    name: "promptd_database_connections",
    help: "Database connections in use in this process, and how many more it may use.",
  },
  ["state"],
);
const waitingForConnection = createGauge(
  { name: "promptd_database_waiting", help: "Work in this process that waits for a free database connection." },
  [],
);

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { busyMsMax } = options.times ?? TIMES;
  const { pool, route, settings } = await openPool(options);
  const connections = createConnectionSemaphore(options.poolMax ?? POOL_MAX_DEFAULT, busyMsMax);
  const lanes = Array.from(
    { length: PIPELINED_CONNECTIONS },
    () =>
      new PipelinedConnection(settings, {
        log: options.log,
        limits: route.isPooled ? LIMITS : null,
        firstStatement: route.firstStatement,
      }),
  );
  if (options.opensAhead === true) for (const lane of lanes) lane.open();
  const removeMetrics = addMetrics(connections);
  const alone = new Set<Client>();
  const runOnPool = poolRunner(pool, route);
  const runOnce = async (query: QueryConfig, onceOptions?: Pick<TxOptions, "signal">): Promise<QueryResult> =>
    connections.run(() => runOnPool(query), onceOptions);
  return {
    route,
    query: async (statement, values) => rowsOf(await runOnce(queryOf(statement, values, route))),
    once: async (statement, values, onceOptions) => {
      const query = queryOf(statement, values, route);
      return rowsOf(await retry(() => runOnce(query, onceOptions), ONCE_MORE));
    },
    pipelined: async (statement, values) => {
      // If both are idle, the first one: a recently used connection has its data in the processor's cache.
      const lane = lanes.reduce((idlest, other) => (other.underWay < idlest.underWay ? other : idlest));
      return rowsOf(await lane.run(queryOf(statement, values, route)));
    },
    queryWithin: async (timeoutMs, statement, values) => {
      const query = queryOf(statement, values, route);
      return rowsOf(await connections.run(() => runOnPool(query, { statement_timeout: timeoutMs })));
    },
    tx: (work, txOptions = {}) =>
      retry(
        () => connections.run(() => runTransaction({ pool, route }, work, txOptions), { signal: txOptions.signal }),
        ONCE_MORE,
      ),
    runAlone: (statement) => runAlone(settings, alone, statement),
    close: async () => {
      removeMetrics();
      const clients = [...alone].map((client) => client.end());
      await Promise.all([...clients, ...lanes.map((lane) => lane.close()), pool.end()]);
    },
  };
}

/** @returns a function that removes them. */
function addMetrics(connections: ConnectionSemaphore): () => void {
  const removers = [
    connectionsByState.from(() => [
      [["used"], connections.used],
      [["free"], connections.permits - connections.used],
    ]),
    waitingForConnection.from(() => [[[], connections.waiting]]),
  ];
  return () => removers.forEach((remove) => remove());
}

interface OpenPool {
  readonly pool: Pool;
  readonly route: Route;
  readonly settings: ClientConfig;
}

/** @throws DatabaseUnusable if no connection can be opened, or the signal's reason if it aborts. */
async function openPool(options: DatabaseOptions): Promise<OpenPool> {
  const { connectTimeoutMs } = options.times ?? TIMES;
  const settings = { ...connectionSettings(options.url, options.role), connectionTimeoutMillis: connectTimeoutMs };
  try {
    const direct = await connectPool(options, { ...settings, ...LIMITS }).catch((error: unknown) => {
      if (isLimitsRefused(error)) return null;
      throw error;
    });
    if (direct?.route.isPooled === false) return direct;
    await direct?.pool.end();
    return await connectPool(options, { ...settings, pipeline: true });
  } catch (cause) {
    options.signal?.throwIfAborted();
    const advice = adviceOf(cause) ?? CHECK_DATABASE;
    throw new DatabaseUnusable(`The database cannot be used: ${reasonOf(cause)}.\n${advice}`, { cause });
  }
}

async function connectPool(options: DatabaseOptions, settings: ClientConfig): Promise<OpenPool> {
  const idleTimeoutMillis = options.staysOpen === true ? 0 : IDLE_MS;
  let firstStatement: string | null = null; // unknown until the first connection is open
  // The pool waits for the promise, which its types do not say.
  const onConnect = (client: ClientBase): unknown =>
    firstStatement === null ? undefined : client.query(firstStatement);
  const pool = new Pool({
    ...settings,
    max: options.poolMax ?? POOL_MAX_DEFAULT,
    idleTimeoutMillis,
    onConnect,
  });
  // Without a listener, a server restart (57P01) would end the process.
  pool.on("error", (error) => options.log.warn({ err: error }, "an idle database connection was lost"));
  pool.on("connect", (client) => client.on("error", () => {}));
  try {
    const route = await orAborted(findRoute(pool), options.signal);
    firstStatement = route.firstStatement;
    return { pool, settings, route };
  } catch (error) {
    const closed = pool.end();
    options.signal?.throwIfAborted(); // a silent server would delay closing the pool
    await closed;
    throw error;
  }
}

type ConnectionSemaphore = Pick<Semaphore, "run" | "used" | "permits" | "waiting">;

/**
 * Creates a semaphore with one permit per pool connection. The pool's own queue would give up after the connection
 * timeout, as if the server were gone. When the server is silent, all waiters fail at once and not one by one.
 */
function createConnectionSemaphore(poolMax: number, busyMsMax: number): ConnectionSemaphore {
  const connections = createSemaphore({
    permits: poolMax,
    timeoutMs: busyMsMax,
    timeoutError: () => new NoConnectionFree(busyMsMax),
  });
  return {
    get used() {
      return connections.used;
    },
    get waiting() {
      return connections.waiting;
    },
    permits: poolMax,
    run: (work, options) =>
      connections.run(async (permit) => {
        try {
          return await work(permit);
        } catch (error) {
          if (isUnresponsive(error)) connections.rejectWaiting(new DatabaseUnresponsive(error)); // before the first of them is admitted
          throw error;
        }
      }, options),
  };
}

/** Creates a separate connection for the listener and for heartbeats, neither of which may wait behind other work. */
export function openConnection(url: string, role: string, limits: Limits = LIMITS): Client {
  const client = new Client({ ...connectionSettings(url, role), ...limits });
  client.on("error", () => {}); // the caller sees `end`; an unhandled error would end the process
  return client;
}

function queryOf(statement: Statement, values: readonly unknown[] | undefined, { keepsNames }: Route): QueryConfig {
  if (typeof statement === "string") return { text: statement, values: [...(values ?? [])] };
  return { text: statement.text, values: [...(values ?? [])], ...(keepsNames ? { name: statement.name } : {}) };
}

/** A text of several statements (a migration) returns an array of results, of which the last has the rows. */
function rowsOf<Row>(result: QueryResult | QueryResult[]): Row[] {
  const last = Array.isArray(result) ? result.at(-1) : result;
  return (last?.rows ?? []) as Row[];
}

/** Runs a statement on a pool connection; `limits` are only the unusual ones. */
type RunOnPool = (query: QueryConfig, limits?: Limits) => Promise<QueryResult>;

/** The only code where a statement outside a transaction runs differently behind a pooler. */
function poolRunner(pool: Pool, { isPooled }: Route): RunOnPool {
  if (isPooled) return (query, limits) => runPooled(pool, { ...LIMITS, ...limits }, query);
  return (query, limits) => (limits === undefined ? pool.query(query) : runWithin(pool, limits, query));
}

async function runWithin(pool: Pool, limits: Limits, query: QueryConfig): Promise<QueryResult> {
  const client = await pool.connect();
  try {
    await client.query(beginWithin(limits));
    return await client.query(query);
  } finally {
    // The caller does not wait for the commit. A connection that does not answer is discarded.
    const release = (broken?: Error) => client.release(broken);
    void client.query("commit").then(() => release(), release);
  }
}

/** Sends the limits with the statement, because behind a pooler no connection belongs to this process. */
async function runPooled(pool: Pool, limits: Limits, query: QueryConfig): Promise<QueryResult> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    return await runPipelined(client, limits, query);
  } catch (error) {
    // A connection that does not answer is discarded; on any other, the end of the transaction has already been sent.
    if (!isRolledBack(error)) broken = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.release(broken);
  }
}

async function runAlone(settings: ClientConfig, open: Set<Client>, statement: string): Promise<void> {
  const { statement_timeout: _limit, lock_timeout: _lock, query_timeout: _silence, ...unlimited } = settings;
  const client = new Client(unlimited);
  client.on("error", () => {}); // the statement fails with the same error
  open.add(client);
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    open.delete(client);
    await client.end();
  }
}

async function runTransaction<Result>(
  { pool, route }: Pick<OpenPool, "pool" | "route">,
  work: (tx: Tx) => Promise<Result>,
  options: TxOptions,
): Promise<Result> {
  const client = await pool.connect();
  const timeLimit = options.statementTimeoutMs === undefined ? {} : { query_timeout: NO_QUERY_TIMEOUT_MS };
  const tx: Tx = {
    kind: "tx",
    query: async (statement, values) =>
      rowsOf(await client.query({ ...queryOf(statement, values, route), ...timeLimit })),
  };
  let broken: Error | undefined;
  try {
    await client.query(beginWithin({ ...(route.isPooled ? LIMITS : {}), ...limitsOf(options) }));
    const result = await work(tx);
    await client.query({ text: "commit", ...timeLimit });
    return result;
  } catch (error) {
    // With a silent server, the rollback would wait behind a statement that is never answered.
    if (error instanceof Error && (isUnresponsive(error) || isStandby(error))) broken = error;
    else
      await client.query("rollback").catch((cause: unknown) => {
        broken = cause instanceof Error ? cause : new Error(String(cause));
      });
    throw error;
  } finally {
    client.release(broken); // a connection that cannot roll back is discarded, not handed to the next caller
  }
}

function limitsOf({ statementTimeoutMs, lockTimeoutMs }: TxOptions): Limits {
  return {
    ...(lockTimeoutMs === undefined ? {} : { lock_timeout: lockTimeoutMs }),
    ...(statementTimeoutMs === undefined
      ? {}
      : { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: 0 }),
  };
}
