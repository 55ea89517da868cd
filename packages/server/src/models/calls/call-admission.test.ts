import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import { loadCatalogue, type CatalogueEntry } from "../catalogue/catalogue.ts";
import { createCallAdmission, WAIT_IN_PROCESS_MS, type CallPermit } from "./call-admission.ts";
import type { ModelResult } from "../ai-sdk/model-adapter.ts";
import { failure } from "../providers/failure.ts";
import { NO_USAGE } from "../pricing/usage.ts";

const never = new AbortController().signal;
const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const OK: ModelResult = { kind: "text", text: "done", truncated: false, usage: NO_USAGE, requestId: null };
const RATE_LIMITED = failure("rate_limited", { retry: "safe", breaker: "ignored" });
const REFUSED_KEY = failure("credentials", { retry: "never", breaker: "opens" });

/** Admission to a provider's model with so many concurrent calls. */
interface Limits {
  readonly bytesMax?: number;
  readonly waitMs?: number;
  readonly isPaced?: boolean;
}

function openAdmission(
  concurrency: number,
  { bytesMax = 1_000, waitMs = WAIT_IN_PROCESS_MS, isPaced = false }: Limits = {},
) {
  const known = catalogue.find("openai/gpt-5.2");
  if (known === null) throw new Error("no entry");
  const entry: CatalogueEntry = { ...known, limits: { ...known.limits, concurrency }, isPaced };
  const budget = createSemaphore({ permits: bytesMax, timeoutMs: waitMs });
  const clock = { nowMs: 0 };
  const inForce = { runs: 0 };
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  const admission = createCallAdmission({
    memory: budget,
    monotonicMs: () => clock.nowMs,
    log,
    adaptRuns: async (_model, { to }) => (inForce.runs = to),
  });
  const admit = async (bytes = 1): Promise<Extract<CallPermit, { kind: "admitted" }>> => {
    const admitted = await admission.admit(entry, bytes, never);
    if (admitted.kind !== "admitted") throw new Error(`busy for ${admitted.waitMs} ms`);
    return admitted;
  };
  const kinds = async (count: number): Promise<string[]> => {
    const admissions = await Promise.all(Array.from({ length: count }, () => admission.admit(entry, 1, never)));
    for (const one of admissions) if (one.kind === "admitted") one.release("not-made");
    return admissions.map(({ kind }) => kind);
  };
  return { admission, entry, budget, clock, lines, admit, kinds, inForce };
}

test("at most the model's limit of calls is under way, and a call that ends frees its slot", async () => {
  const { admission, entry, admit } = openAdmission(2);
  const [first] = [await admit(), await admit()];
  expect(await admission.admit(entry, 1, never)).toEqual({ kind: "busy", waitMs: WAIT_IN_PROCESS_MS, isBroken: false });
  first.release(OK);
  await admit();
});

test("a 429 halves a model's slots, and ten successes give one back", async () => {
  const { admit, kinds } = openAdmission(4);
  (await admit()).release(RATE_LIMITED);
  expect(await kinds(4)).toEqual(["admitted", "admitted", "busy", "busy"]);
  for (let success = 0; success < 10; success += 1) (await admit()).release(OK);
  expect(await kinds(4)).toEqual(["admitted", "admitted", "admitted", "busy"]);
});

test("a model keeps one slot after any number of 429s, and never gets back more than its limit", async () => {
  const { admit, kinds } = openAdmission(2);
  for (let answer = 0; answer < 5; answer += 1) (await admit()).release(RATE_LIMITED);
  for (let success = 0; success < 9; success += 1) (await admit()).release(OK);
  expect(await kinds(3)).toEqual(["admitted", "busy", "busy"]);
  for (let success = 0; success < 100; success += 1) (await admit()).release(OK);
  expect(await kinds(3)).toEqual(["admitted", "admitted", "busy"]);
});

test("a call that gets no memory in time is busy, and frees its slot", async () => {
  const { admission, entry, admit } = openAdmission(2, { bytesMax: 10, waitMs: 1 });
  const first = await admit(10);
  expect(await admission.admit(entry, 5, never)).toEqual({ kind: "busy", waitMs: WAIT_IN_PROCESS_MS, isBroken: false });
  first.release(OK);
  await Promise.all([admit(), admit()]);
});

test("a call that is canceled while it waits for memory frees its slot", async () => {
  const { admission, entry, admit } = openAdmission(2, { bytesMax: 10 });
  const first = await admit(10);
  const cancel = new AbortController();
  const waiting = admission.admit(entry, 5, cancel.signal);
  cancel.abort(new Error("canceled"));
  await expect(waiting).rejects.toThrow("canceled");
  first.release(OK);
  await Promise.all([admit(), admit()]);
});

test("a model whose key is rejected is closed, and uses neither a slot nor memory for calls that it turns away", async () => {
  const { admission, entry, budget, admit } = openAdmission(2);
  (await admit()).release(REFUSED_KEY);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    expect(await admission.admit(entry, 400, never)).toEqual({ kind: "busy", waitMs: 15_000, isBroken: true });
  }
  expect(budget.used).toBe(0);
});

test("the opening and closing of a model's breaker are logged once each, with the model's name", async () => {
  const { admit, clock, lines } = openAdmission(2);
  (await admit()).release(REFUSED_KEY);
  clock.nowMs += 15_000;
  (await admit()).release(REFUSED_KEY);
  clock.nowMs += 15_000;
  (await admit()).release(OK);
  (await admit()).release(OK);
  const model = { provider: "openai", model: "openai/gpt-5.2" };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { level: 40, ...model, msg: expect.stringContaining("opened") as unknown },
    { level: 30, ...model, msg: expect.stringContaining("closed") as unknown },
  ]);
});

test("models do not share slots", async () => {
  const { admission, entry, admit } = openAdmission(1);
  await admit();
  const other = { ...entry, model: "openai/another" };
  expect((await admission.admit(other, 1, never)).kind).toBe("admitted");
});

describe("a model that adjusted to its server's pace", () => {
  const answer = (outputTokens: number): ModelResult => ({ ...OK, usage: { ...NO_USAGE, outputTokens } });

  /** Repeatedly makes as many calls as are allowed, all answered after `ms`. */
  async function answerAll(rig: ReturnType<typeof openAdmission>, rounds: number, ms: (atOnce: number) => number) {
    for (let round = 0; round < rounds; round += 1) {
      const calls: Extract<CallPermit, { kind: "admitted" }>[] = [];
      for (;;) {
        const call = await rig.admission.admit(rig.entry, 1, never);
        if (call.kind === "busy") break;
        calls.push(call);
      }
      rig.clock.nowMs += ms(calls.length);
      for (const call of calls) call.release(answer(100));
      await setImmediate();
    }
  }
  const paced = () => openAdmission(64, { isPaced: true });

  test("starts with two concurrent calls, and reaches 64 if responses stay as fast", async () => {
    const rig = paced();
    expect(await rig.kinds(3)).toEqual(["admitted", "admitted", "busy"]);
    await answerAll(rig, 40, () => 1_000);
    expect(rig.inForce.runs).toBe(64);
    expect((await rig.kinds(65)).filter((kind) => kind === "admitted")).toHaveLength(64);
    expect(rig.lines.filter((line) => line.includes("adjusted to its server's pace"))).toHaveLength(5);
  });

  test("stays at about two if the server answers one question after another", async () => {
    const rig = paced();
    await answerAll(rig, 40, (atOnce) => 1_000 * atOnce);
    expect(rig.inForce.runs).toBeLessThanOrEqual(4);
  });

  test("halves its calls after one that timed out or was rejected as too many", async () => {
    const rig = paced();
    await answerAll(rig, 40, () => 1_000);
    (await rig.admit()).release(RATE_LIMITED);
    await setImmediate();
    expect(rig.inForce.runs).toBe(32);
  });
});
