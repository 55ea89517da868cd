/** Draws the README's chart, promptd compared with its peers, from the last record of create-run, for light and dark pages. */
import type { Spread } from "../bench/harness/spread.ts";
import { isQuiet, readRecord, type ReadRecord, type RecordOf } from "./performance-records.ts";

export const CHART_FILE = "docs/screens/performance.svg";

const WIDTH = 840;
const LABELS = 116;
const PANEL = WIDTH / 2;
const BARS = 190;
const ROW = 34;
const TOP = 58;

const STYLE = `
  text { font: 14px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; }
  .small { font-size: 12px; fill: #59636e; }
  .own { fill: #0969da; }
  .peer { fill: #afb8c1; }
  .range { stroke: #1f2328; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .own { fill: #4493f8; }
    .peer { fill: #656c76; }
    .range { stroke: #f0f6fc; }
  }`;

interface Bar {
  readonly name: string;
  readonly value: Spread;
}

interface Panel {
  readonly title: string;
  readonly bars: readonly Bar[];
  readonly left: number;
}

/** Null: there is no record with peers from a quiet machine, and no other record is worth a chart. */
export function drawChart(read: ReadRecord = readRecord): string | null {
  const record = read("create-run");
  if (record === null || record.besidePeers.length === 0 || !isQuiet(record)) return null;
  const names = ["promptd", ...record.besidePeers.map(({ name }) => name)];
  const bars = (kind: "one" | "many", what: "perSecond" | "p50Ms") =>
    names.flatMap((name) => {
      const value = record.loads[`${name} ${kind}`]?.[what];
      return value === undefined || Number.isNaN(value.median) ? [] : [{ name, value }];
    });
  const bottom = TOP + names.length * ROW;
  const parts = [
    drawPanel({ title: "Requests per second, 64 callers (more is better)", bars: bars("many", "perSecond"), left: 0 }),
    drawPanel({ title: "One caller waits, p50 in ms (less is better)", bars: bars("one", "p50Ms"), left: PANEL }),
    ...captionOf(record).map((line, i) => text(0, bottom + 22 + i * 18, "small", line)),
  ];
  return frame(bottom + 22 + captionOf(record).length * 18 - 6, parts.join("\n"));
}

const HOW =
  "To measure it on your machine, run `npm run bench:peers` and `npm run bench -- create-run --peers`; `npm run bench` lists all benchmarks.";
const PAGE = "[docs/performance.md](docs/performance.md) has all figures, including missed goals.";

/** The README's text for the chart, or in place of it. */
export function describeChart(read: ReadRecord = readRecord): string {
  const picture = `![promptd compared with genkit, mastra, and Portkey's gateway](${CHART_FILE})`;
  const about =
    'The other tools store nothing and charge nobody, so the difference is the cost of keys, limits, credits, and durable runs. "genkit, storing" is genkit with two statements per run that store it and charge for it.';
  if (drawChart(read) !== null) return `${picture}\n\n${about} ${HOW} ${PAGE}`;
  return `The benchmarks compare promptd with genkit, mastra, and Portkey's gateway. No comparison from a quiet machine has been recorded yet, so there is no chart here. ${HOW} ${PAGE}`;
}

function captionOf(record: RecordOf<"create-run">): string[] {
  return [
    "With a model server that responds at once. promptd checks a key, limits, charges, and stores every run durably; the others do none of this,",
    'except that "genkit, storing" stores and charges with two statements per run.',
    `Medians of ${record.sizes.rounds} interleaved rounds of ${record.sizes.seconds} s, with minimum and maximum.`,
    `${record.machine}, Node ${record.node.replace("v", "")}, ${record.database}, commit ${record.commit}, ${record.at.slice(0, 10)}.`,
  ];
}

function drawPanel({ title, bars, left }: Panel): string {
  const most = Math.max(...bars.map(({ value }) => value.max));
  const at = (value: number) => left + LABELS + (value / most) * BARS;
  const rows = bars.map(({ name, value }, i) => {
    const y = TOP + i * ROW;
    const width = Math.max(2, at(value.median) - at(0));
    return [
      text(left, y + 15, "", name === "portkey" ? "portkey (proxy)" : name),
      `<rect class="${name === "promptd" ? "own" : "peer"}" x="${at(0)}" y="${y}" width="${round(width)}" height="20" rx="3"/>`,
      `<line class="range" x1="${round(at(value.min))}" x2="${round(at(value.max))}" y1="${y + 10}" y2="${y + 10}"/>`,
      text(round(Math.max(at(value.max), at(0) + width)) + 8, y + 15, "", value.median.toLocaleString("en-US")),
    ].join("\n");
  });
  return [text(left, 30, "title", title), ...rows].join("\n");
}

function text(x: number, y: number, name: string, words: string): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text${name === "" ? "" : ` class="${name}"`} x="${x}" y="${y}">${escaped}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function frame(height: number, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="promptd compared with its peers">
<style>${STYLE}
</style>
${content}
</svg>
`;
}
