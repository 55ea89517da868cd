import type { Random } from "../platform/backoff.ts";
import type { Database } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ModelAdapter } from "./model-call.ts";
import type { ModelGate } from "./model-gate.ts";
import type { SendCounter } from "./send-counter.ts";
import type { SendRecord } from "./send-record.ts";
import type { Wait } from "./waiting.ts";

/** What every part of a call needs. */
export interface CallContext {
  readonly db: Database;
  readonly log: Log;
  readonly adapter: ModelAdapter;
  readonly wait: Wait;
  readonly random: Random;
  readonly catalogue: Catalogue;
  readonly gate: ModelGate;
  readonly counter: SendCounter;
  readonly record: SendRecord;
}
