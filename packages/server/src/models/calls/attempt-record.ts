/**
 * Collects how sends ended and writes them in batches: the record is the operator's, so no run waits for it. What is
 * not written when a process dies stays without an outcome, which is the truth: nobody knows it then.
 */
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { endSends, type SendEnd } from "./provider-calls-store.ts";

export interface SendRecord {
  add(end: SendEnd): void;
  /** Resolves when everything added so far is written or was given up. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const BATCH_MAX = 200;
const LINGER_MS = 20;
/** While the database is away, older ends are forgotten beyond this: memory matters more than the record. */
const KEPT_MAX = 20_000;

export function createSendRecord(db: Database, log: Log): SendRecord {
  const kept: SendEnd[] = [];
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    while (kept.length > 0) {
      const batch = kept.splice(0, BATCH_MAX);
      try {
        await endSends(db, batch);
      } catch (error) {
        kept.unshift(...batch); // they stay for the next flush
        log.warn({ err: error, kept: kept.length }, "ends of provider calls are not recorded yet");
        return;
      }
    }
  };
  const flush = (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    writing = writing.then(write);
    return writing;
  };
  return {
    add: (end) => {
      kept.push(end);
      if (kept.length > KEPT_MAX) kept.shift();
      timer ??= setTimeout(() => void flush(), LINGER_MS);
    },
    flush,
    close: flush,
  };
}
