/**
 * The metrics of this process, in the text format of Prometheus. A slice declares a metric where it counts, at the top
 * of the file, and /metrics renders all of them. Labels have few values: never an account, key, prompt, or run.
 */
type Values<Names extends readonly string[]> = { readonly [I in keyof Names]: string };

interface Sample {
  /** Such as `_count`; empty for counters and gauges. */
  readonly suffix: string;
  /** Rendered, such as `status="200"`. */
  readonly labels: readonly string[];
  readonly value: number;
}

interface Described {
  readonly name: string;
  readonly help: string;
}

/** A metric with its current values. */
export interface Family extends Described {
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export interface Counter<Names extends readonly string[]> {
  add(values: Values<Names>, by?: number): void;
}

interface Histogram<Names extends readonly string[]> {
  observe(values: Values<Names>, value: number): void;
}

type Read<Names extends readonly string[]> = () => readonly (readonly [Values<Names>, number])[];

interface Gauge<Names extends readonly string[]> {
  /** Adds a source. Values of several sources with the same labels are added up. @returns a function that removes it. */
  from(read: Read<Names>): () => void;
}

const declared = new Map<string, () => Family>();

function declare(name: string, read: () => Family): void {
  if (declared.has(name)) throw new Error(`The metric ${name} is declared twice.`);
  declared.set(name, read);
}

/** Label values are the key of a sample. */
const SEPARATOR = "\0";
const keyOf = (values: readonly string[]): string => values.join(SEPARATOR);

export function createCounter<const Names extends readonly string[]>(
  described: Described,
  labels: Names,
): Counter<Names> {
  const counts = new Map<string, number>();
  // increase() needs a sample from before the first event.
  if (labels.length === 0) counts.set("", 0);
  declare(described.name, () => ({ ...described, type: "counter", samples: plainSamples(labels, counts) }));
  return {
    add: (values, by = 1) => {
      const key = keyOf(values);
      counts.set(key, (counts.get(key) ?? 0) + by);
    },
  };
}

export function createHistogram<const Names extends readonly string[]>(
  described: Described & { readonly buckets: readonly number[] },
  labels: Names,
): Histogram<Names> {
  const { name, help, buckets } = described;
  const observed = new Map<string, Observed>();
  const samples = () =>
    [...observed].flatMap(([key, one]) => histogramSamples(renderLabels(labels, key), buckets, one));
  declare(name, () => ({ name, help, type: "histogram", samples: samples() }));
  return {
    observe: (values, value) => {
      const key = keyOf(values);
      let one = observed.get(key);
      if (one === undefined) observed.set(key, (one = { counts: buckets.map(() => 0), count: 0, sum: 0 }));
      const bucket = buckets.findIndex((bound) => value <= bound);
      if (bucket >= 0) one.counts[bucket] = (one.counts[bucket] ?? 0) + 1;
      one.count += 1;
      one.sum += value;
    },
  };
}

export function createGauge<const Names extends readonly string[]>(described: Described, labels: Names): Gauge<Names> {
  const sources = new Set<{ readonly read: Read<Names> }>();
  declare(described.name, () =>
    familyOf(
      described,
      labels,
      [...sources].flatMap(({ read }) => read()),
    ),
  );
  return {
    from: (read) => {
      const source = { read };
      sources.add(source);
      return () => void sources.delete(source);
    },
  };
}

interface DescribedFamily extends Described {
  readonly type?: "counter" | "gauge";
}

/** A metric that is read only when it is rendered, such as from the database, and has no labels. */
export function singleFamily(described: DescribedFamily, value: number): Family {
  return familyOf(described, [], [[[], value]]);
}

/** The same with labels. Values with the same labels are added up. */
export function familyOf<const Names extends readonly string[]>(
  { type = "gauge", ...described }: DescribedFamily,
  labels: Names,
  read: ReturnType<Read<Names>>,
): Family {
  const sums = new Map<string, number>();
  for (const [values, value] of read) sums.set(keyOf(values), (sums.get(keyOf(values)) ?? 0) + value);
  return { ...described, type, samples: plainSamples(labels, sums) };
}

/** For each bucket, how many values it received. */
interface Observed {
  readonly counts: number[];
  count: number;
  sum: number;
}

function histogramSamples(labels: readonly string[], buckets: readonly number[], observed: Observed): Sample[] {
  let below = 0;
  const bounded = buckets.map((bound, i) => {
    below += observed.counts[i] ?? 0;
    return { suffix: "_bucket", labels: [...labels, `le="${bound}"`], value: below };
  });
  return [
    ...bounded,
    { suffix: "_bucket", labels: [...labels, 'le="+Inf"'], value: observed.count },
    { suffix: "_sum", labels, value: observed.sum },
    { suffix: "_count", labels, value: observed.count },
  ];
}

function plainSamples(names: readonly string[], values: ReadonlyMap<string, number>): Sample[] {
  return [...values].map(([key, value]) => ({ suffix: "", labels: renderLabels(names, key), value }));
}

function renderLabels(names: readonly string[], key: string): string[] {
  const values = key.split(SEPARATOR);
  return names.map((name, i) => `${name}="${escape(values[i] ?? "").replaceAll('"', String.raw`\"`)}"`);
}

function escape(text: string): string {
  return text.replaceAll("\\", String.raw`\\`).replaceAll("\n", String.raw`\n`);
}

/** The media type of what `renderMetrics` returns. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** @param others metrics that are not of this process, in addition to its own. */
export function renderMetrics(others: readonly Family[] = []): string {
  return [...[...declared.values()].map((read) => read()), ...others].map(renderFamily).join("");
}

/** Empty for a metric without values. */
function renderFamily({ name, help, type, samples }: Family): string {
  if (samples.length === 0) return "";
  const lines = samples.map(({ suffix, labels, value }) => {
    const shown = labels.length === 0 ? "" : `{${labels.join(",")}}`;
    return `${name}${suffix}${shown} ${value}\n`;
  });
  return `# HELP ${name} ${escape(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}
