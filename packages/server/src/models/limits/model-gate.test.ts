import { pino } from "pino";
import { expect, test } from "vitest";
import { createByteBudget } from "./byte-budget.ts";
import { loadCatalogue, type CatalogueEntry } from "../catalogue/catalogue.ts";
import { createModelGate, WAIT_IN_PROCESS_MS, type Entry } from "./model-gate.ts";
import type { ModelResult } from "../ai-sdk/model-adapter.ts";
import { failure } from "../providers/failure.ts";
import { NO_USAGE } from "../pricing/usage.ts";

const never = new AbortController().signal;
const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const OK: ModelResult = { kind: "text", text: "done", truncated: false, usage: NO_USAGE, requestId: null };
const RATE_LIMITED = failure("rate_limited", { retry: "safe", breaker: "ignored" });
const REFUSED_KEY = failure("credentials", { retry: "never", breaker: "opens" });

/** A gate before a model of a provider with so many calls at once. */
function setup(concurrency: number, bytesMax = 1_000) {
  const known = catalogue.find("openai/gpt-5.2");
  if (known === null) throw new Error("no entry");
  const entry: CatalogueEntry = { ...known, limits: { ...known.limits, concurrency } };
  const budget = createByteBudget(bytesMax);
  const clock = { nowMs: 0 };
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  const gate = createModelGate(budget, () => clock.nowMs, log);
  const enter = async (bytes = 1): Promise<Extract<Entry, { kind: "admitted" }>> => {
    const entrance = await gate.enter(entry, bytes, never);
    if (entrance.kind !== "admitted") throw new Error(`busy for ${entrance.waitMs} ms`);
    return entrance;
  };
  const kinds = async (count: number): Promise<string[]> => {
    const entrances = await Promise.all(Array.from({ length: count }, () => gate.enter(entry, 1, never)));
    for (const one of entrances) if (one.kind === "admitted") one.leave("not-sent");
    return entrances.map(({ kind }) => kind);
  };
  return { gate, entry, budget, clock, lines, enter, kinds };
}

test("no more calls than the model's limit are under way, and a place is free again when one has ended", async () => {
  const { gate, entry, enter } = setup(2);
  const [first] = [await enter(), await enter()];
  expect(await gate.enter(entry, 1, never)).toEqual({ kind: "busy", waitMs: WAIT_IN_PROCESS_MS, isBroken: false });
  first.leave(OK);
  await enter();
});

test("an answer 429 halves the places of its model, and ten successes give one back", async () => {
  const { enter, kinds } = setup(4);
  (await enter()).leave(RATE_LIMITED);
  expect(await kinds(4)).toEqual(["admitted", "admitted", "busy", "busy"]);
  for (let success = 0; success < 10; success += 1) (await enter()).leave(OK);
  expect(await kinds(4)).toEqual(["admitted", "admitted", "admitted", "busy"]);
});

test("a call that is canceled while it waits for memory leaves its place free", async () => {
  const { gate, entry, enter } = setup(2, 10);
  const first = await enter(10);
  const cancel = new AbortController();
  const waiting = gate.enter(entry, 5, cancel.signal);
  cancel.abort(new Error("canceled"));
  await expect(waiting).rejects.toThrow("canceled");
  first.leave(OK);
  await Promise.all([enter(), enter()]);
});

test("a model whose key is refused is closed, and keeps neither a place nor memory of those it turns away", async () => {
  const { gate, entry, budget, enter } = setup(2);
  (await enter()).leave(REFUSED_KEY);
  for (let turn = 0; turn < 5; turn += 1) {
    expect(await gate.enter(entry, 400, never)).toEqual({ kind: "busy", waitMs: 15_000, isBroken: true });
  }
  expect(budget.usedBytes).toBe(0);
});

test("that a model's breaker opens and closes is logged, once each, with the model's name", async () => {
  const { enter, clock, lines } = setup(2);
  (await enter()).leave(REFUSED_KEY);
  clock.nowMs += 15_000;
  (await enter()).leave(REFUSED_KEY);
  clock.nowMs += 15_000;
  (await enter()).leave(OK);
  (await enter()).leave(OK);
  const model = { provider: "openai", model: "openai/gpt-5.2" };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { level: 40, ...model, msg: expect.stringContaining("opened") as unknown },
    { level: 30, ...model, msg: expect.stringContaining("closed") as unknown },
  ]);
});

test("models do not share places", async () => {
  const { gate, entry, enter } = setup(1);
  await enter();
  const other = { ...entry, model: "openai/another" };
  expect((await gate.enter(other, 1, never)).kind).toBe("admitted");
});
