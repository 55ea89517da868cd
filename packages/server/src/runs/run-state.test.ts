import { expect, test } from "vitest";
import { isFinal, visibleOutputs } from "./run-state.ts";

const STATES = ["queued", "running", "succeeded", "failed"] as const;

test("a run is final only if it succeeded or failed", () => {
  expect(STATES.map(isFinal)).toEqual([false, false, true, true]);
});

test("outputs show once the run has ended, never before", () => {
  const outputs = [{ type: "text", data: "a part" }] as const;
  expect(STATES.map((state) => visibleOutputs(state, outputs))).toEqual([[], [], outputs, outputs]);
});
