/** A caller of models on a real database, for tests that call models without HTTP and without runs. */
import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { createModelCaller, type ModelCallerOptions } from "../../src/models/calls/call-model.ts";
import { loadCatalogue, type Catalogue } from "../../src/models/catalogue/catalogue.ts";
import { createLog } from "../../src/platform/log.ts";
import type { ModelCaller, ModelOutcome, ModelRequest } from "../../src/models/calls/model-request.ts";

/** The shipped catalogue without any provider key: only the sandbox is enabled. */
export const SANDBOX_CATALOGUE: Catalogue = loadCatalogue({
  overlayFile: null,
  hasSecret: () => false,
  sandbox: true,
});

export interface CallerFixture {
  readonly caller: ModelCaller;
  /** Milliseconds of each pause that the caller requested; the pauses are skipped. */
  readonly waits: number[];
  readonly call: (change?: Partial<ModelRequest>, signal?: AbortSignal) => Promise<ModelOutcome>;
}

/** Closed when the test has finished. */
export function createCaller(
  options: Pick<ModelCallerOptions, "db" | "adapter"> & Partial<ModelCallerOptions>,
): CallerFixture {
  const waits: number[] = [];
  const caller = createModelCaller({
    catalogue: SANDBOX_CATALOGUE,
    log: createLog("silent"),
    inflightBytesMax: 536_870_912,
    adaptRuns: async (_model, { from }) => from,
    random: () => 0.5,
    wait: async (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
    },
    ...options,
  });
  onTestFinished(() => caller.close());
  return {
    caller,
    waits,
    call: (change, signal = new AbortController().signal) => caller.call(requestOf(change), signal),
  };
}

/** A request for one text from the sandbox, in a separate run. */
export function requestOf(change: Partial<ModelRequest> = {}): ModelRequest {
  return {
    accountId: randomUUID(),
    runId: randomUUID(),
    attempt: 1,
    step: 0,
    item: 0,
    model: "sandbox/text",
    options: {},
    instructions: "",
    prompt: "hi",
    authorsText: null,
    images: [],
    maxOutputTokens: null,
    deadlineMs: performance.now() + 60_000,
    ...change,
  };
}
