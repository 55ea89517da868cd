import type { Random } from "../../platform/resilience/retry.ts";
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { ModelAdapter } from "../ai-sdk/model-adapter.ts";
import type { CallAdmission } from "./call-admission.ts";
import type { CallRecord, CountCall } from "./provider-calls.ts";

/** What every part of a call needs. */
export interface CallContext {
  readonly db: Database;
  readonly log: Log;
  readonly adapter: ModelAdapter;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: Random;
  readonly catalogue: Catalogue;
  readonly admission: CallAdmission;
  readonly count: CountCall;
  readonly record: CallRecord;
}
