import { Client, type ClientConfig, type QueryConfig, type QueryResult } from "pg";
import { isConnectionLoss, isUnresponsive, isStandby } from "./errors.ts";
import type { Log } from "../log.ts";
import { retry } from "../resilience/retry.ts";
import { runPipelined, type Limits } from "./pooler.ts";

/** Shorter than for other connections, because everything behind a pipelined connection waits as well. */
const CONNECT_TIMEOUT_MS = 2_500;

/** A pipelined connection that is opened when first needed, and reopened after it was lost. */
export class PipelinedConnection {
  readonly #settings: ClientConfig;
  readonly #log: Log;
  /** Sent with each statement through a pooler; null if the limits belong to the connection. */
  readonly #limits: Limits | null;
  readonly #firstStatement: string | null;
  #client: Promise<Client> | null = null;
  #underWay = 0;

  constructor(
    settings: ClientConfig,
    options: { readonly log: Log; readonly limits: Limits | null; readonly firstStatement: string | null },
  ) {
    this.#settings = settings;
    this.#log = options.log;
    this.#limits = options.limits;
    this.#firstStatement = options.firstStatement;
  }

  /** How many statements are not answered yet. */
  get underWay(): number {
    return this.#underWay;
  }

  async run(query: QueryConfig): Promise<QueryResult> {
    this.#underWay += 1;
    try {
      return await retry(() => this.#send(query), {
        // A caller who has waited for a silent server does not wait twice.
        on: (error) => (isConnectionLoss(error) && !isUnresponsive(error)) || isStandby(error),
        attempts: 2,
      });
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Opens ahead of the first statement, which retries if this fails. */
  open(): void {
    this.#client ??= this.#open();
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await (await client?.catch(() => null))?.end();
  }

  async #send(query: QueryConfig): Promise<QueryResult> {
    const client = (this.#client ??= this.#open());
    try {
      const opened = await client;
      return await (this.#limits === null ? opened.query(query) : runPipelined(opened, this.#limits, query));
    } catch (error) {
      // A terminated backend says so in its answer, before its connection ends.
      if (isConnectionLoss(error)) this.#forget(client);
      if (isStandby(error)) await this.#retire(client);
      throw error;
    }
  }

  /** Closes a connection; statements already sent on it are still answered. */
  async #retire(client: Promise<Client>): Promise<void> {
    this.#forget(client);
    await (await client).end();
  }

  #open(): Promise<Client> {
    const client = new Client({
      ...this.#settings,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      pipeline: true,
    });
    const opening = client.connect().then(async () => {
      if (this.#firstStatement !== null) await client.query(this.#firstStatement);
      return client;
    });
    client.once("error", (error) => this.#log.warn({ err: error }, "a pipelined database connection was lost"));
    client.on("error", () => this.#forget(opening));
    client.once("end", () => this.#forget(opening));
    opening.catch(() => this.#forget(opening));
    return opening;
  }

  /** The next statement opens a new connection. A connection that ends late must not remove its successor. */
  #forget(client: Promise<Client>): void {
    if (this.#client === client) this.#client = null;
  }
}
