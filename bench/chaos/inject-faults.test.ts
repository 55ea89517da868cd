import { expect, test } from "vitest";
import { findShortfall } from "./inject-faults.ts";
import { countKinds, planFaults } from "./plan-faults.ts";

const PLAN = planFaults({ seed: 1, kills: 30, seats: { api: 2, worker: 3 } });

test("a run that carried out the whole plan is complete", () => {
  expect(findShortfall(countKinds(PLAN), { executed: countKinds(PLAN), missed: [] })).toEqual([]);
});

test("a run that ended early, or found no victim, has failed", () => {
  const executed = countKinds(PLAN.filter(({ kind }) => kind !== "crash").slice(0, -1));
  expect(findShortfall(countKinds(PLAN), { executed, missed: ["+20 ms kill api 1"] })).toEqual([
    expect.stringMatching(/^less than planned: \d+ of \d+ times/),
    "less than planned: 0 of 2 times crash",
    "no victim for +20 ms kill api 1",
  ]);
});
