import { expect, test } from "vitest";
import type { UsageRow } from "@promptd/contract/manage";
import { roundUp, usageOfDays } from "./usage-series.ts";

const row = (day: string, model: string, credits: number) => ({ day, model, credits }) as UsageRow;
const report = (rows: readonly UsageRow[]) => ({ from: "2026-11-20", to: "2026-11-22", rows, isCut: false });

test("days without usage have empty bars, and the highest usage comes first", () => {
  const { days, series } = usageOfDays(report([row("2026-11-20", "a", 1), row("2026-11-22", "b", 5)]), "model");
  expect(days).toEqual(["2026-11-20", "2026-11-21", "2026-11-22"]);
  expect(series).toEqual([
    { key: "b", name: "b", total: 5, values: [0, 0, 5] },
    { key: "a", name: "a", total: 1, values: [1, 0, 0] },
  ]);
});

test("the fifth series sums up the rest, and no credit is lost", () => {
  const rows = Array.from({ length: 9 }, (_, index) => row("2026-11-21", `model ${index}`, index + 1));
  const { series } = usageOfDays(report(rows), "model");
  expect(series.map(({ name }) => name).at(-1)).toBe("5 others");
  expect(series.reduce((total, one) => total + one.total, 0)).toBe(45);
});

test("two prompts with the same title stay separate and are shown by title", () => {
  const prompts = ["poem", "poem-2"].map(
    (promptSlug, index) => ({ day: "2026-11-21", promptSlug, promptTitle: "A poem", credits: 2 - index }) as UsageRow,
  );
  const { series } = usageOfDays(report(prompts), "prompt");
  expect(series.map(({ name, total }) => [name, total])).toEqual([
    ["A poem", 2],
    ["A poem", 1],
  ]);
});

test("grid lines are at round numbers", () => {
  expect([0, 1, 3, 7, 12, 49, 51, 800].map(roundUp)).toEqual([1, 1, 5, 10, 20, 50, 100, 1_000]);
});
