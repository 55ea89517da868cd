/** Callers that send one request after another, and the cost of their requests for all processes involved. */
import { cpuMsOf, cpuMsOfTree } from "./cpu.ts";
import { openLine, writeRequest, type Answer, type Outgoing } from "./http-line.ts";
import { percentile } from "../search/measures.ts";

export interface Target {
  readonly name: string;
  readonly url: string;
  /** Sent in turn, so that every key's account takes part. */
  readonly requests: readonly Outgoing[];
  /** The expected status (default: 200). */
  readonly status?: number;
  /** The text that every correct response contains. */
  readonly words: string;
  /** The processes whose time is counted per request. `database` is the postmaster. */
  readonly processes: { readonly server: number; readonly database?: number; readonly models?: number };
}

/** In milliseconds, except `perSecond`. Processor time is per request. */
export interface LoadRound {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly serverMs: number;
  readonly databaseMs: number;
  readonly modelsMs: number;
  readonly loadMs: number;
}

interface Load {
  readonly callers: number;
  readonly seconds: number;
}

/** A closed loop: each caller waits for its response. @throws Error when a response is not as expected. */
async function runLoad(target: Target, { callers, seconds }: Load): Promise<LoadRound> {
  const { url, requests, processes } = target;
  const { host } = new URL(url);
  const written = requests.map((request) => writeRequest(request, host));
  const lines = await Promise.all(Array.from({ length: callers }, () => openLine(url)));
  const waits: number[] = [];
  const read = () => ({
    server: cpuMsOf(processes.server),
    database: processes.database === undefined ? 0 : cpuMsOfTree(processes.database),
    models: processes.models === undefined ? 0 : cpuMsOf(processes.models),
    load: cpuMsOf(process.pid),
  });
  const before = read();
  const startedMs = performance.now();
  const untilMs = startedMs + seconds * 1_000;
  let sent = 0;
  await Promise.all(
    lines.map(async (line) => {
      while (performance.now() < untilMs) {
        const request = written[sent % written.length] ?? Buffer.of();
        sent += 1;
        const sentMs = performance.now();
        requireRight(target, await line.send(request));
        waits.push(performance.now() - sentMs);
      }
    }),
  );
  const tookMs = performance.now() - startedMs;
  const after = read();
  for (const line of lines) line.close();
  const forEach = (name: keyof typeof after) => (after[name] - before[name]) / waits.length;
  return {
    perSecond: (waits.length / tookMs) * 1_000,
    p50Ms: percentile(waits, 0.5),
    p95Ms: percentile(waits, 0.95),
    serverMs: forEach("server"),
    databaseMs: forEach("database"),
    modelsMs: forEach("models"),
    loadMs: forEach("load"),
  };
}

function requireRight({ name, status = 200, words }: Target, answer: Answer): void {
  if (answer.status === status && answer.body.includes(words)) return;
  throw new Error(`${name} answered ${answer.status}: ${answer.body.slice(0, 500)}`);
}

/** One measurement in a round: a target under a load. */
export interface Visit<Name extends string> {
  readonly name: Name;
  readonly target: Target;
  readonly load: Load;
}

/** Every round visits all targets and begins with a different one, so that none always runs on a warmer machine. */
export async function interleave<Name extends string>(
  visits: readonly Visit<Name>[],
  rounds: number,
): Promise<Readonly<Record<Name, readonly LoadRound[]>>> {
  const results = Object.fromEntries(visits.map(({ name }) => [name, [] as LoadRound[]])) as Record<Name, LoadRound[]>;
  for (const { target, load } of visits) await runLoad(target, load); // warm up, and check each response
  for (let round = 0; round < rounds; round += 1)
    for (const { name, target, load } of rotate(visits, round)) {
      const one = await runLoad(target, load);
      results[name].push(one);
      console.error(`round ${round + 1}: ${name} ${JSON.stringify(one, roundNumbers)}`);
    }
  return results;
}

export function rotate<Item>(items: readonly Item[], by: number): Item[] {
  const first = by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(3)) : value;
}
