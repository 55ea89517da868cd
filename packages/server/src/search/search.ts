/** Search as the service uses it: one object per process that keeps a copy of the index and answers queries. */
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";
import type { Tick } from "../platform/ticks.ts";
import { findDocuments } from "./find-documents.ts";
import { createGate } from "./gate.ts";
import type { BaseVectors } from "./lsa.ts";
import { findByBuiltIn } from "./meaning.ts";
import { createMirror } from "./mirror.ts";
import type { Mirror } from "./mirror.ts";
import { loadBaseVectors, loadExpansions } from "./search-data.ts";

export interface SearchOptions {
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
}

export interface Search {
  /**
   * Prompts for a query of 1 to 200 characters, best first, at most `limit`. What committed before the call is found;
   * the caller still checks each row, for a prompt may be unpublished a moment later.
   */
  find(query: string, limit: number): Promise<string[]>;
  /** Loads the data ahead of the first query; call it once the server listens. Failures are logged, not thrown. */
  warm(): Promise<void>;
  readonly ticks: readonly Tick[];
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 3;
const REFRESH_EVERY_MS = 1_000;

export function createSearch(options: SearchOptions): Search {
  let opened: Promise<Opened> | null = null;
  let timer: NodeJS.Timeout | null = null;
  const gate = createGate(CONNECTIONS_MAX);

  async function openAll(): Promise<Opened> {
    const [base, table] = await Promise.all([loadBaseVectors(), loadExpansions()]);
    const own = { embedder: base.embedder, dims: base.dims, shippedMean: base.mean };
    const mirror = createMirror({ db: options.db, clock: options.clock, chooseEmbedders: () => [own] });
    timer = setInterval(() => void mirror.refresh().catch(() => {}), REFRESH_EVERY_MS);
    timer.unref();
    return { base, table, mirror };
  }
  function open(): Promise<Opened> {
    opened ??= openAll().catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  }
  return {
    find: async (query, limit) => {
      const { base, table, mirror } = await open();
      await mirror.refresh();
      const ranked = await findDocuments(query, {
        db: options.db,
        mirror,
        table,
        gate,
        findByMeaning: async (_query, plan, count) => {
          const matrix = mirror.matrixOf(base.embedder);
          return matrix === null ? null : findByBuiltIn(base, matrix, plan, count);
        },
      });
      return ranked.flatMap(({ doc }) => mirror.documents.get(doc)?.promptId ?? []).slice(0, limit);
    },
    warm: async () => {
      try {
        await (await open()).mirror.refresh();
      } catch (error) {
        options.log.warn({ err: error }, "search could not be prepared; the first query tries again");
      }
    },
    ticks: [],
    close: async () => {
      if (timer !== null) clearInterval(timer);
      await opened?.catch(() => null);
    },
  };
}

interface Opened {
  readonly base: BaseVectors;
  readonly table: Awaited<ReturnType<typeof loadExpansions>>;
  readonly mirror: Mirror;
}
