/** Formats the figures and tables of the performance page. */
import type { Spread } from "../bench/harness/spread.ts";

/** With three significant digits. NaN is the result of missing measurements. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "not measured";
  return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 3 });
}

export function spread({ median, min, max }: Spread): string {
  return `${number(median)} (${number(min)} to ${number(max)})`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}
