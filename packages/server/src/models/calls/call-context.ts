import type { Random } from "../../platform/resilience/retry.ts";
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { ModelAdapter } from "../ai-sdk/model-adapter.ts";
import type { ModelGate } from "../limits/model-gate.ts";
import type { SendCounter } from "./attempt-counter.ts";
import type { SendRecord } from "./attempt-record.ts";
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
