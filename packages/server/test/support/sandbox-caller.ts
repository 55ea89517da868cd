/** One run's calls to the sandbox through the real policy, and the sends counted for it. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { createGuardedFetch, createSpool } from "../../src/files/index.ts";
import { createAiSdkAdapter } from "../../src/models/ai-sdk/adapter.ts";
import type { ModelCallerOptions } from "../../src/models/calls/call-model.ts";
import type { ModelAdapter } from "../../src/models/ai-sdk/model-adapter.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { createCaller, type CallerFixture } from "./model-caller-fixture.ts";
import type { ModelOutcome, ModelRequest } from "../../src/models/calls/model-request.ts";

interface SendRow {
  readonly call_number: number;
  readonly attempt: number;
  readonly model: string;
  readonly outcome: string | null;
  readonly http_status: number | null;
  readonly operation: unknown;
  readonly usage: { readonly inputTokens: number } | null;
  readonly cost_micro: number | null;
}

export interface SandboxCaller extends Pick<CallerFixture, "caller" | "waits"> {
  readonly runId: string;
  readonly call: (prompt: string, change?: Partial<ModelRequest>, signal?: AbortSignal) => Promise<ModelOutcome>;
  /** Every send of the run, once everything in progress has been written; no call can follow. */
  readonly sends: () => Promise<SendRow[]>;
}

export function createSandboxCaller(db: Database, change: Partial<ModelCallerOptions> = {}): SandboxCaller {
  const { caller, waits, call } = createCaller({ db, adapter: createSandboxAdapter(), ...change });
  const runId = randomUUID();
  return {
    caller,
    waits,
    runId,
    call: (prompt, wish, signal) => call({ prompt, runId, ...wish }, signal),
    sends: async () => {
      await caller.close();
      return db.query<SendRow>(
        `select call_number, attempt, model, outcome, http_status, operation, usage, cost_micro
         from provider_calls where run_id = $1 order by step, item, call_number`,
        [runId],
      );
    },
  };
}

export function createSandboxAdapter(): ModelAdapter {
  return createAiSdkAdapter({
    secret: () => null,
    clock: systemClock,
    log: createLog("silent"),
    download: createGuardedFetch(),
    spool: createSpool("/nonexistent"),
    timeoutMsMax: 60_000,
  });
}

export const failedWith = (message: string): unknown => expect.objectContaining({ kind: "failed", message });
