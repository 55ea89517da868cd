import { describe, expect, test } from "vitest";
import { countKinds, describeStep, planFaults } from "./plan-faults.ts";

const FLEET = { api: 2, worker: 3 };

describe("the plan of a chaos run", () => {
  test("is the same for the same seed, and differs for another", () => {
    const plan = (seed: number) => planFaults({ seed, kills: 30, seats: FLEET });
    expect(plan(7)).toEqual(plan(7));
    expect(plan(8)).not.toEqual(plan(7));
    expect(plan(7).slice(0, 3).map(describeStep)).toMatchInlineSnapshot(`
      [
        "+231 ms backend worker 2",
        "+127 ms freeze api 1 for 707 ms",
        "+294 ms kill api 1",
      ]
    `);
  });

  test.each([1, 7, 20_261_122])("of thirty kills contains at least two of each other kind, seed %i", (seed) => {
    const counts = countKinds(planFaults({ seed, kills: 30, seats: FLEET }));
    expect(counts).toEqual({ kill: 30, term: 2, freeze: 3, backend: 4, cut: 2, crash: 2 });
  });

  test("of a thousand kills has the expected shares", () => {
    const counts = countKinds(planFaults({ seed: 1, kills: 1_000, seats: FLEET }));
    expect(counts).toEqual({ kill: 1_000, term: 80, freeze: 110, backend: 120, cut: 70, crash: 20 });
  });

  test("kills in every seat, about equally often", () => {
    const kills = planFaults({ seed: 3, kills: 50, seats: FLEET }).flatMap((step) =>
      step.kind === "kill" ? [step] : [],
    );
    const seats = Map.groupBy(kills, (step) => step.seat);
    expect(seats.size).toBe(5);
    for (const steps of seats.values()) expect(Math.abs(steps.length - 10)).toBeLessThan(4);
  });

  test("spares the only process of a role, and refuses a fleet in which nobody could replace a victim", () => {
    const steps = planFaults({ seed: 3, kills: 20, seats: { api: 1, worker: 2 } });
    expect(steps.filter((step) => "seat" in step && step.seat.startsWith("api"))).toEqual([]);
    expect(() => planFaults({ seed: 3, kills: 20, seats: { api: 1, worker: 1 } })).toThrow("two API processes");
  });
});
