/**
 * Named points where a test may kill, stop, or disturb the process. Without `enableFaults` the points do nothing. Their
 * names are listed here so that the crash matrix can go through all of them.
 */
import { setTimeout as wait } from "node:timers/promises";

export const FAULT_POINTS = [
  "create.blob_stored",
  "create.before_commit",
  "create.claimed",
  "create.after_commit",
  "create.before_reply",
  "wait.registered",
  "wait.before_reply",
  "drain.started",
  "claim.before_commit",
  "claim.after_commit",
  "images.after_fetch",
  "call.before_send",
  "call.after_send",
  "op.persisted",
  "call.after_answer",
  "blob.after_rename",
  "finish.before_commit",
  "finish.after_commit",
  "notify.send",
  "heartbeat.before",
  "sweep.before_commit",
  "grant.before_commit",
  "expire.before_commit",
  "webhook.before_settle",
  "file.after_mark",
  "file.after_unlink",
  "migrate.mid",
  "embedded.init_mid",
  "embedded.before_ready",
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

/** `skip`: the caller skips the step. Only notifications may be skipped, because nothing depends on them. */
export type FaultOutcome = "go" | "skip";
const SKIPPABLE: ReadonlySet<FaultPoint> = new Set(["notify.send"]);

type Action = (point: FaultPoint) => Promise<FaultOutcome> | FaultOutcome;
interface Fault {
  readonly point: FaultPoint;
  readonly action: Action;
  /** Only the n-th hit in this process; null: every hit. */
  readonly onlyHit: number | null;
  hits: number;
}

const GO = Promise.resolve<FaultOutcome>("go");
const active = new Map<FaultPoint, Fault>();
const cutters = new Set<() => void>();

/** Marks a fault point. Resolves at once unless a test has enabled a fault here. */
export function faultPoint(point: FaultPoint): Promise<FaultOutcome> {
  const found = active.get(point);
  return found === undefined ? GO : strike(found);
}

async function strike(fault: Fault): Promise<FaultOutcome> {
  fault.hits += 1;
  return fault.onlyHit === null || fault.onlyHit === fault.hits ? fault.action(fault.point) : "go";
}

/**
 * Registers what the action `cut` does: the owner of database sockets destroys them. Returns a function that undoes
 * this.
 */
export function onCut(cut: () => void): () => void {
  cutters.add(cut);
  return () => cutters.delete(cut);
}

/**
 * Replaces the active faults with the ones specified as `name:action[@n]`, comma-separated. Actions: kill and stop
 * (SIGKILL and SIGSTOP to this process), throw, hang, delay=<ms>, cut (destroy the database sockets), skip
 * (notifications only).
 * @throws Error that names every invalid part.
 */
export function enableFaults(specification: string): void {
  const { parsed, unreadable } = parseFaults(specification);
  if (unreadable.length > 0) throw new Error(`These faults cannot be enabled. ${unreadable.join(" ")}`);
  active.clear();
  for (const fault of parsed) active.set(fault.point, fault);
}

/** Returns what is wrong with a specification, one sentence per invalid part. */
export function findUnreadableFaults(specification: string): readonly string[] {
  return parseFaults(specification).unreadable;
}

function parseFaults(specification: string) {
  const parts = specification.split(",").map((text) => text.trim());
  const read = parts.filter((text) => text !== "").map(parseFault);
  return {
    parsed: read.filter((part) => typeof part !== "string"),
    unreadable: read.filter((part) => typeof part === "string"),
  };
}

const PART = /^(?<point>[a-z_.]+):(?<action>[a-z]+)(?:=(?<value>\d{1,7}))?(?:@(?<hit>[1-9]\d{0,5}))?$/;

/** Parses one part; returns a text that says what is wrong if it is invalid. */
function parseFault(part: string): Fault | string {
  const { point: name, action = "", value, hit } = PART.exec(part)?.groups ?? {};
  const point = FAULT_POINTS.find((known) => known === name);
  if (name === undefined) return `"${part}" does not have the form name:action[@n].`;
  if (point === undefined) return `"${name}" is not a fault point.`;
  const run = actionOf(action, value === undefined ? null : Number(value));
  if (run === null) return `"${part}" has no valid action (kill, stop, throw, hang, delay=ms, cut, skip).`;
  if (action === "skip" && !SKIPPABLE.has(point)) return `"${point}" is not a notification and cannot be skipped.`;
  return { point, action: run, onlyHit: hit === undefined ? null : Number(hit), hits: 0 };
}

function actionOf(action: string, value: number | null): Action | null {
  if (action === "delay") return value === null ? null : () => wait<FaultOutcome>(value, "go");
  return value === null ? (ACTIONS.get(action) ?? null) : null;
}

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["kill", () => signalSelf("SIGKILL")],
  ["stop", () => signalSelf("SIGSTOP")],
  [
    "throw",
    (point) => {
      throw new Error(`fault injected at ${point}`);
    },
  ],
  ["hang", () => new Promise<never>(() => {})],
  [
    "cut",
    () => {
      for (const cut of cutters) cut();
      return "go";
    },
  ],
  ["skip", () => "skip"],
]);

function signalSelf(signal: "SIGKILL" | "SIGSTOP"): FaultOutcome {
  process.kill(process.pid, signal);
  return "go";
}
