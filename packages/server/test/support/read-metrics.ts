/** Reads /metrics as Prometheus does, and fails on anything that it would reject. */
import { expect } from "vitest";

export interface Metrics {
  readonly text: string;
  /** The value of a sample with exactly these labels; 0 if there is none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number;
  /** The names of all metrics, such as `promptd_info`. */
  readonly names: readonly string[];
}

export async function readMetrics(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Metrics> {
  const response = await fetch(`${url}/metrics`, { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parseMetrics(await response.text());
}

const HELP = /^# HELP ([a-z_]+) \S.*\.$/;
const TYPE = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/;
const SAMPLE = /^([a-z_]+)(?:\{(.+)\})? (-?[0-9.e+-]+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g;

export function parseMetrics(text: string): Metrics {
  expect(text.endsWith("\n")).toBe(true);
  const samples = new Map<string, number>();
  const names: string[] = [];
  let family = { name: "", type: "" };
  for (const line of text.slice(0, -1).split("\n")) {
    const [, helped] = HELP.exec(line) ?? [];
    const [, typed, type = ""] = TYPE.exec(line) ?? [];
    if (helped !== undefined) {
      expect(names, `${helped} appears once`).not.toContain(helped);
      names.push(helped);
    } else if (typed !== undefined) {
      expect(typed).toBe(names.at(-1));
      family = { name: typed, type };
    } else {
      const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
      expect(namesOf(family), line).toContain(name);
      const key = keyOf(
        name,
        Object.fromEntries([...labels.matchAll(LABEL)].map(([, label, shown = ""]) => [label, shown])),
      );
      expect(samples.has(key), `${line} appears once`).toBe(false);
      samples.set(key, Number(value));
    }
  }
  return { text, names, value: (name, labels = {}) => samples.get(keyOf(name, labels)) ?? 0 };
}

/** The names that a metric's samples may have. */
function namesOf({ name, type }: { readonly name: string; readonly type: string }): readonly string[] {
  return type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name];
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  return JSON.stringify([name, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
