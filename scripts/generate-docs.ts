/** Writes the generated parts into the pages of the documentation: `npm run docs`. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GENERATED_PARTS, placePart } from "./generated-docs.ts";
import { CHART_FILE, drawChart } from "./performance-chart.ts";
import { describePython, PYTHON_PAGE } from "./python-types.ts";

const ROOT = join(import.meta.dirname, "..");

writeFileSync(join(ROOT, PYTHON_PAGE), describePython());
console.log(PYTHON_PAGE);
const chart = drawChart();
if (chart === null) rmSync(join(ROOT, CHART_FILE), { force: true });
else writeFileSync(join(ROOT, CHART_FILE), chart);
console.log(CHART_FILE);
for (const part of GENERATED_PARTS) {
  const path = join(ROOT, part.page);
  const text = await part.text();
  writeFileSync(path, placePart(readFileSync(path, "utf8"), part.name, text));
  console.log(`${part.page}: ${part.name}`);
}
