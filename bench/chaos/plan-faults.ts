/**
 * The plan of a chaos run, derived from its seed alone: what is hit, in which order, and how long to wait before each
 * step. The number of kills fixes how often each kind occurs; the seed decides the order, the seats, and the times.
 */
import { createRandom, pickOne, type SeededRandom } from "./random.ts";

export const FAULT_KINDS = ["kill", "term", "freeze", "backend", "cut", "crash"] as const;
type FaultKind = (typeof FAULT_KINDS)[number];
export type FaultCounts = Readonly<Record<FaultKind, number>>;
export type Role = "api" | "worker";
/** A seat of the fleet, such as "worker 2": the process in it is hit. */
export type Seat = `${Role} ${number}`;

export type Step = { readonly gapMs: number } & (
  | { readonly kind: "kill" | "term"; readonly seat: Seat }
  | { readonly kind: "freeze"; readonly seat: Seat; readonly forMs: number }
  /** `which` of the seat's connections, from 0 to 1. */
  | { readonly kind: "backend"; readonly seat: Seat; readonly which: number }
  | { readonly kind: "cut"; readonly when: "now" | "on answer" }
  | { readonly kind: "crash" }
);

export interface PlanOptions {
  readonly seed: number;
  readonly kills: number;
  readonly seats: Readonly<Record<Role, number>>;
}

const GAP_MS = { min: 20, max: 320 };
const FREEZE_MS = { min: 200, max: 4_000 };
/** Number of each other kind per kill; at least two of each, so that short runs include them all. */
const PER_KILL: Readonly<Record<Exclude<FaultKind, "kill">, number>> = {
  term: 0.08,
  freeze: 0.11,
  backend: 0.12,
  cut: 0.07,
  crash: 0.02,
};
const TIMES_MIN = 2;

/** @throws Error if no process could replace another: guarantees need a process to uphold them. */
export function planFaults({ seed, kills, seats }: PlanOptions): readonly Step[] {
  const random = createRandom(seed);
  const roles = (["api", "worker"] as const).filter((role) => seats[role] > 1);
  if (roles.length === 0) throw new Error("A chaos run needs two API processes or two workers.");
  const places = roles.flatMap((role) => Array.from({ length: seats[role] }, (_, i): Seat => `${role} ${i + 1}`));
  const nextVictim = dealSeats(places, random);
  const anySeat = () => pickOne(places, random) ?? nextVictim();
  return shuffle(listKinds(kills), random).map((kind): Step => {
    const gapMs = between(GAP_MS, random);
    if (kind === "kill") return { kind, gapMs, seat: nextVictim() };
    if (kind === "term") return { kind, gapMs, seat: anySeat() };
    if (kind === "freeze") return { kind, gapMs, seat: anySeat(), forMs: between(FREEZE_MS, random) };
    if (kind === "backend") return { kind, gapMs, seat: anySeat(), which: random() };
    if (kind === "cut") return { kind, gapMs, when: random() < 0.5 ? "now" : "on answer" };
    return { kind, gapMs };
  });
}

export function countKinds(steps: readonly Pick<Step, "kind">[]): FaultCounts {
  const count = (kind: FaultKind) => steps.filter((step) => step.kind === kind).length;
  return Object.fromEntries(FAULT_KINDS.map((kind) => [kind, count(kind)])) as FaultCounts;
}

export function describeStep(step: Step): string {
  const whom = "seat" in step ? ` ${step.seat}` : "";
  const detail = step.kind === "freeze" ? ` for ${step.forMs} ms` : step.kind === "cut" ? ` ${step.when}` : "";
  return `+${step.gapMs} ms ${step.kind}${whom}${detail}`;
}

function listKinds(kills: number): FaultKind[] {
  return FAULT_KINDS.flatMap((kind) => {
    const times = kind === "kill" ? kills : Math.max(TIMES_MIN, Math.round(kills * PER_KILL[kind]));
    return Array.from({ length: times }, () => kind);
  });
}

/**
 * One of the two seats that have not been hit for the longest time: if all seats could be picked, most steps would wait
 * for a seat that is just being filled.
 */
function dealSeats(places: readonly Seat[], random: SeededRandom): () => Seat {
  const rested = shuffle(places, random);
  return () => {
    const [seat = "worker 1"] = rested.splice(random() < 0.5 ? 0 : 1, 1);
    rested.push(seat);
    return seat;
  };
}

function shuffle<Item>(items: readonly Item[], random: SeededRandom): Item[] {
  const keyed = items.map((item) => ({ item, at: random() }));
  return keyed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

function between({ min, max }: { readonly min: number; readonly max: number }, random: SeededRandom): number {
  return Math.round(min + random() * (max - min));
}
