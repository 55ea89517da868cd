/** How long the runs of dead workers waited, judged by the time during which a database and CPU were available. */
import type { Outage, Reclaim } from "./trace.ts";
import type { Slowdown } from "./watch-machine.ts";

export interface Surroundings {
  readonly outages: readonly Outage[];
  readonly slowdowns: readonly Slowdown[];
  readonly leaseMs: number;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The guarantee: a dead worker's runs are claimed again within ten seconds, on a machine that lets them run. */
const RECLAIM_P99_MS_MAX = 10_000;
/** One other process on the same CPU is not starvation; anything beyond that is. */
const FAIR_SLOWDOWN = 2;
/**
 * However starved the machine was, a second counts for at least a fifth: with the default lease, more than 26 s always
 * fails.
 */
const SHARE_MIN = 0.2;

export function judgeReclaims(reclaims: readonly Reclaim[], surroundings: Surroundings): string[] {
  const never = reclaims.filter((one) => one.claimedMs === null && !one.isEnded);
  const p99 = (times: readonly (number | null)[]) => percentile(ascending(times), 0.99) ?? 0;
  const ownMs = p99(reclaims.map((one) => ownTime(one, surroundings)));
  const allMs = p99(reclaims.map((one) => one.claimedMs));
  return [
    ...never.map(({ runId }) => `never claimed again after its worker died: ${runId}`),
    ...(ownMs >= RECLAIM_P99_MS_MAX
      ? [`claimed again too late: p99 ${ownMs} ms with database and processor, ${allMs} ms in all`]
      : []),
  ];
}

export function summarizeReclaims(reclaims: readonly Reclaim[], surroundings: Surroundings) {
  const { outages, slowdowns } = surroundings;
  const again = reclaims.filter((one) => one.claimedMs !== null);
  return {
    workersKilledAtWork: new Set(reclaims.map((one) => one.worker)).size,
    reclaims: again.length,
    databaseAwayMsMost: Math.max(0, ...outages.map(({ fromMs, toMs }) => toMs - fromMs)),
    /** The time that a CPU-bound process took, in multiples of what it needed. */
    slowdown: spread(slowdowns.map(({ factor }) => Math.round(factor * 10) / 10)),
    /** From the death of a worker until its run was taken from it. */
    freedMs: spread(again.map((one) => one.freedMs)),
    /** From the death of a worker until another worker claimed its run. */
    reclaimMs: spread(again.map((one) => one.claimedMs)),
    /** The same without the time during which the database was down. */
    reclaimWithDatabaseMs: spread(again.map((one) => ownTime(one, { ...surroundings, slowdowns: [] }))),
    /** The same, also without time that the machine withheld: this is judged. */
    reclaimOwnMs: spread(again.map((one) => ownTime(one, surroundings))),
  };
}

/**
 * The time until the run was claimed again, minus the time during which the database was down or the machine withheld
 * CPU. A lease ends by the clock, however slow the machine: nothing is subtracted from its time.
 */
function ownTime({ diedAtMs, claimedMs }: Reclaim, { outages, slowdowns, leaseMs }: Surroundings): number | null {
  if (claimedMs === null) return null;
  const leasedToMs = diedAtMs + Math.min(leaseMs, claimedMs);
  const leased = cutOut({ fromMs: diedAtMs, toMs: leasedToMs }, outages);
  const after = cutOut({ fromMs: leasedToMs, toMs: diedAtMs + claimedMs }, outages);
  const leasedMs = sum(leased.map(({ fromMs, toMs }) => toMs - fromMs));
  return Math.round(leasedMs + sum(after.map((span) => givenTime(span, slowdowns))));
}

function cutOut(whole: Span, holes: readonly Span[]): Span[] {
  return holes.reduce<Span[]>((spans, hole) => spans.flatMap((span) => without(span, hole)), [whole]);
}

function without({ fromMs, toMs }: Span, hole: Span): Span[] {
  const left = { fromMs, toMs: Math.min(toMs, hole.fromMs) };
  const right = { fromMs: Math.max(fromMs, hole.toMs), toMs };
  return [left, right].filter((span) => span.toMs > span.fromMs);
}

/** A second at the fair slowdown of two counts in full, at three for a half, at four for a third. */
function givenTime(span: Span, slowdowns: readonly Slowdown[]): number {
  const withheld = slowdowns.map((one) => {
    const overlapMs = Math.min(span.toMs, one.toMs) - Math.max(span.fromMs, one.fromMs);
    const share = Math.max(SHARE_MIN, 1 / Math.max(1, one.factor - FAIR_SLOWDOWN + 1));
    return Math.max(0, overlapMs) * (1 - share);
  });
  return span.toMs - span.fromMs - sum(withheld);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function spread(values: readonly (number | null)[]) {
  const sorted = ascending(values);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), most: sorted.at(-1) ?? null };
}

function ascending(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null).sort((a, b) => a - b);
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}
