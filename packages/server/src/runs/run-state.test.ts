/** What the table of states promises; that the database does the same is proved in test/queue-states.test.ts. */
import { expect, test } from "vitest";
import { isFinal, TRANSITIONS, visibleOutputs, type RunTransition } from "./run-state.ts";

const EVENTS = ["claimed", "completed", "broke", "canceled", "released", "gave-up"] as const satisfies RunTransition[];
const STATES = ["queued", "running", "succeeded", "failed"] as const;
const CELLS = STATES.flatMap((state) => EVENTS.map((event) => ({ state, event, next: TRANSITIONS[state][event] })));

test("a run that has ended stays as it ended, whatever is reported afterwards", () => {
  const ended = CELLS.filter(({ state }) => state === "succeeded" || state === "failed");
  expect(ended.filter(({ next }) => next !== null)).toEqual([]);
  expect(STATES.map(isFinal)).toEqual([false, false, true, true]);
});

test("a run succeeds by completing while it runs, and by nothing else", () => {
  expect(CELLS.filter(({ next }) => next === "succeeded")).toEqual([
    { state: "running", event: "completed", next: "succeeded" },
  ]);
});

test("a run fails by a break while it runs, and by a cancel or a lost hope while it runs or waits", () => {
  const failing = CELLS.filter(({ next }) => next === "failed").map(({ state, event }) => `${state} ${event}`);
  expect(failing).toEqual([
    "queued canceled",
    "queued gave-up",
    "running broke",
    "running canceled",
    "running gave-up",
  ]);
});

test("a run that was claimed shows running until it ends, also while it waits for another worker", () => {
  const running = CELLS.filter(({ next }) => next === "running").map(({ state, event }) => `${state} ${event}`);
  expect(running).toEqual(["queued claimed", "running claimed", "running released"]);
  expect(CELLS.filter(({ next }) => next === "queued")).toEqual([]);
});

test("outputs show once the run has ended, never before", () => {
  const outputs = [{ type: "text", data: "a part" }] as const;
  expect(STATES.map((state) => visibleOutputs(state, outputs))).toEqual([[], [], outputs, outputs]);
});
