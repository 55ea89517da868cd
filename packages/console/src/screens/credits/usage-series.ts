/** The data of the usage chart: one bar per day, stacked in at most five colors. */
import type { UsageReport, UsageRow } from "@promptd/contract/manage";

export const USAGE_BY = ["prompt", "key", "model"] as const;
export type UsageBy = (typeof USAGE_BY)[number];

interface Series {
  /** Identifies a series, because two prompts or two keys may share a name. */
  readonly key: string;
  readonly name: string;
  readonly total: number;
  /** One value per day. */
  readonly values: readonly number[];
}

export interface UsageOfDays {
  /** YYYY-MM-DD, without gaps. */
  readonly days: readonly string[];
  /** Highest usage first. The fifth series sums up the rest. */
  readonly series: readonly Series[];
}

const SHOWN_MAX = 4;
const DAY_MS = 86_400_000;

const NAMES: Readonly<Record<UsageBy, (row: UsageRow) => Pick<Series, "key" | "name">>> = {
  prompt: ({ promptSlug, promptTitle }) => ({
    key: promptSlug ?? "",
    name: promptTitle ?? promptSlug ?? "deleted prompts",
  }),
  key: ({ keyId, keyName }) =>
    keyId === null
      ? { key: "", name: "without a key" }
      : keyName === null
        ? { key: "deleted", name: "deleted keys" }
        : { key: keyId, name: keyName },
  model: ({ model }) => ({ key: model ?? "", name: model ?? "unknown" }),
};

export function usageOfDays({ from, to, rows }: UsageReport, by: UsageBy): UsageOfDays {
  const days: string[] = [];
  for (let ms = Date.parse(from); ms <= Date.parse(to); ms += DAY_MS)
    days.push(new Date(ms).toISOString().slice(0, 10));
  const indexOf = new Map(days.map((day, index) => [day, index]));
  const found = new Map<string, Pick<Series, "key" | "name"> & { readonly values: number[] }>();
  for (const row of rows) {
    const index = indexOf.get(row.day ?? "");
    if (index === undefined) continue;
    const { key, name } = NAMES[by](row);
    const { values } = found.get(key) ?? { values: days.map(() => 0) };
    values[index] = (values[index] ?? 0) + row.credits;
    found.set(key, { key, name, values });
  }
  const all = [...found.values()]
    .map((one) => ({ ...one, total: sum(one.values) }))
    .filter(({ total }) => total > 0)
    .sort((a, b) => b.total - a.total);
  const rest = all.slice(SHOWN_MAX);
  if (rest.length < 2) return { days, series: all };
  const others = days.map((_, index) => sum(rest.map((one) => one.values[index] ?? 0)));
  return {
    days,
    series: [
      ...all.slice(0, SHOWN_MAX),
      { key: "others", name: `${rest.length} others`, values: others, total: sum(others) },
    ],
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Rounds up to 1, 2, 5, 10, 20, and so on, so that grid lines are at round numbers. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}
