/** What is wrong now, as sentences: what an operator would want to be woken up for. */
import type { AskedLink, ManagedModel, ModelHealth, SystemState } from "@promptd/contract/manage";
import { formatDay, formatDuration, formatMinute, formatWhole } from "../../components/format.ts";
import { causeAdvice, causeWords } from "./cause-words.ts";
import type { Readiness } from "./queries.ts";

export interface Problem {
  readonly title: string;
  readonly note: string;
  /** False if nothing is broken yet. */
  readonly isUrgent: boolean;
  /** The model that it is about. */
  readonly model?: string;
  /** True if the model's failed runs give more details. */
  readonly hasRuns?: boolean;
  /** The email address of the person to open. */
  readonly person?: string;
  /** True if the operator can fix it in their own security settings. */
  readonly isOwn?: boolean;
}

export interface Known {
  readonly system: SystemState;
  readonly readiness: Readiness;
  readonly health: readonly ModelHealth[];
  readonly models: readonly ManagedModel[];
  /** The operator who is viewing the page. */
  readonly personId: string;
}

/** After this long without a report, other workers consider a worker dead too. */
const SILENT_MS = 30_000;
const WAIT_MS_MAX = 60_000;
const CALLS_MIN = 3;
const RETIRES_SOON_MS = 30 * 86_400_000;
const CHECKS = ["database", "clock", "files", "search"];

export function findProblems({ system, readiness, health, models, personId }: Known): Problem[] {
  const nowMs = Date.parse(system.now);
  const working = new Set(health.filter(hasRecovered).map(({ model }) => model));
  const refusals = system.failures.filter(({ cause, model }) => ACCOUNT_CAUSES.has(cause) && !working.has(model));
  const refused = new Set(refusals.map(({ model }) => model));
  return [
    ...readinessProblems(readiness),
    ...workerProblems(system, nowMs),
    ...refusals.map(accountProblem),
    ...health.filter(({ model }) => !refused.has(model)).flatMap((model) => modelProblem(model, nowMs)),
    ...mailProblems(system),
    ...system.askedLinks.map((link) => requestedLink(link, nowMs)),
    ...system.operatorsWithoutSignIn.map((person) => noSignIn(person, personId)),
    ...models.flatMap(switchedOff),
    ...models.flatMap((model) => retirement(model, nowMs)),
  ];
}

function switchedOff({ model, isOff }: ManagedModel): Problem[] {
  const note = "Its runs fail without a charge or use fallbacks.";
  return isOff ? [{ title: `${model} is switched off`, note, isUrgent: false, model }] : [];
}

function readinessProblems(readiness: Readiness): Problem[] {
  return CHECKS.flatMap((name) => {
    const state = readiness[name];
    if (typeof state !== "string" || state === "ok") return [];
    return [{ title: `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${state}`, note: "", isUrgent: true }];
  });
}

function workerProblems({ workers, queue }: SystemState, nowMs: number): Problem[] {
  const problems: Problem[] = [];
  const silent = workers.filter(({ heartbeatAt }) => nowMs - Date.parse(heartbeatAt) > SILENT_MS);
  const isAlone = workers.length === silent.length;
  if (isAlone) {
    const note = "Runs are accepted but wait. Start a process with the role worker or all.";
    problems.push({ title: "No worker is running", note, isUrgent: true });
  } else if (silent.length > 0) {
    const names = silent.map(({ host, pid }) => `${host} (${pid})`).join(", ");
    problems.push({
      title: "A worker is not responding",
      note: `${names}. Other workers take over its runs.`,
      isUrgent: false,
    });
  }
  const waitedMs = queue.oldestAt === null ? 0 : nowMs - Date.parse(queue.oldestAt);
  if (waitedMs > WAIT_MS_MAX) {
    const title = `${formatWhole(queue.waiting)} ${queue.waiting === 1 ? "run is waiting" : "runs are waiting"}`;
    problems.push({ title, note: `The oldest has waited ${formatDuration(waitedMs)}.`, isUrgent: true });
  }
  return problems;
}

/** Whether some of the latest calls succeeded. */
function hasRecovered({ history }: ModelHealth): boolean {
  const latest = history.findLast(({ calls }) => calls > 0);
  return latest !== undefined && latest.failed < latest.calls;
}

/** A single failure is reported, because every further run fails too. */
const ACCOUNT_CAUSES: ReadonlySet<string> = new Set(["credentials", "quota"]);

function accountProblem({ cause, model, runs }: SystemState["failures"][number]): Problem {
  const failed = `${formatWhole(runs)} ${runs === 1 ? "run has" : "runs have"} failed in the last hour.`;
  return {
    title: `${model}: ${causeWords(cause)}`,
    note: `${failed} ${causeAdvice(cause) ?? ""}`,
    isUrgent: true,
    model,
    hasRuns: true,
  };
}

/** Of a model's history. */
const INTERVAL_MS = 300_000;
const isBad = ({ calls, failed }: { readonly calls: number; readonly failed: number }) => failed * 2 >= calls;

/** In words, since when its calls have been failing; null: its latest calls succeeded. Stays the same until that changes. */
function failingSince({ history }: ModelHealth, nowMs: number): string | null {
  const lastGood = history.findLastIndex((interval) => interval.calls > 0 && !isBad(interval));
  const first = history.findIndex(({ calls }, index) => index > lastGood && calls > 0);
  if (first === -1) return null;
  if (first === 0) return "for about an hour or longer";
  const thisInterval = Math.floor(nowMs / INTERVAL_MS);
  return `since about ${formatMinute((thisInterval - (history.length - 1 - first)) * INTERVAL_MS)}`;
}

function modelProblem(health: ModelHealth, nowMs: number): Problem[] {
  const { model, calls, failed, lastFailure } = health;
  if (failed < CALLS_MIN || !isBad(health)) return [];
  const since = failingSince(health, nowMs);
  const counts = `${formatWhole(failed)} of ${formatWhole(calls)} calls failed in the last hour.`;
  const cause = lastFailure?.outcome ?? "unknown";
  const last = `Last failure: ${causeWords(cause)}.`;
  if (since === null) {
    const note = `${counts} ${last} Its latest calls succeeded.`;
    return [{ title: `${model} was failing`, note, isUrgent: false, model, hasRuns: true }];
  }
  const title = `${model} has been failing ${since}`;
  const note = [counts, last, causeAdvice(cause) ?? ""].join(" ").trim();
  return [{ title, note, isUrgent: true, model, hasRuns: true }];
}

function mailProblems({ mail }: SystemState): Problem[] {
  if (mail.givenUp === 0) return [];
  const count = `${mail.givenUp} ${mail.givenUp === 1 ? "email" : "emails"} could not be delivered in the last seven days`;
  return [{ title: count, note: mail.lastFault?.text ?? "", isUrgent: false }];
}

function requestedLink({ email, askedAt }: AskedLink, nowMs: number): Problem {
  const waited = formatDuration(Math.max(0, nowMs - Date.parse(askedAt)));
  const note = `They have waited ${waited}. This server does not send email. Create the link under People and give it to them.`;
  return { title: `${email} requested a sign-in link`, note, isUrgent: false, person: email };
}

function noSignIn(person: SystemState["operatorsWithoutSignIn"][number], personId: string): Problem {
  const { email } = person;
  if (person.personId === personId) {
    const note = "You signed in with a one-time link. Set a password or add a passkey before this session ends.";
    return { title: "You cannot sign in again yet", note, isUrgent: false, isOwn: true };
  }
  const note = "They signed in with a one-time link. Create another one under People; it asks them for a password.";
  return { title: `${email} cannot sign in again yet`, note, isUrgent: false, person: email };
}

function retirement({ model, enabled, retiresAt, successor }: ManagedModel, nowMs: number): Problem[] {
  if (!enabled || retiresAt === null) return [];
  const leftMs = Date.parse(retiresAt) - nowMs;
  if (leftMs > RETIRES_SOON_MS || leftMs < 0) return [];
  const after = successor === null ? "" : ` Its successor is ${successor}.`;
  return [
    {
      title: `${model} retires on ${formatDay(retiresAt)}`,
      note: `Prompts that use it stop working then.${after}`,
      isUrgent: false,
    },
  ];
}
