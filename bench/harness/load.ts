/** Callers that send one request after the other, and what their requests cost all processes that take part. */
import { cpuMsOf, cpuMsOfTree } from "./cpu.ts";
import { openLine, writeRequest, type Answer, type Outgoing } from "./http-line.ts";
import { percentile } from "../search/measures.ts";

export interface Target {
  readonly name: string;
  readonly url: string;
  /** Sent in turn, so that as many accounts as there are keys take part. */
  readonly requests: readonly Outgoing[];
  /** 200 when absent. */
  readonly status?: number;
  /** What every right answer holds. */
  readonly words: string;
  /** Of the processes whose time is counted for a request; `database`: the postmaster. */
  readonly processes: { readonly server: number; readonly database?: number; readonly models?: number };
}

/** Milliseconds but for `perSecond`; processor time is that for each request. */
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

/** A closed loop: each caller waits for its answer. @throws Error when one answer is not what it must be. */
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

/** One measured thing of a round: a target under a load. */
export interface Visit<Name extends string> {
  readonly name: Name;
  readonly target: Target;
  readonly load: Load;
}

/** Every round visits all of them, and begins with another one each time, so that none always meets a warmer machine. */
export async function interleave<Name extends string>(
  visits: readonly Visit<Name>[],
  rounds: number,
): Promise<Readonly<Record<Name, readonly LoadRound[]>>> {
  const results = Object.fromEntries(visits.map(({ name }) => [name, [] as LoadRound[]])) as Record<Name, LoadRound[]>;
  for (const { target, load } of visits) await runLoad(target, load); // warm, and each answer is checked
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
