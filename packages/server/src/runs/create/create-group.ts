/**
 * Each create is a flush of the disk, and one transaction at a time may claim what it creates. So those that come in one
 * iteration of the event loop, or while a statement is under way, go together, of all accounts: one round trip, one flush, and
 * no run that a claim has to look for. When a statement fails, its accounts go apart: each has its creates repeated by itself,
 * so that a lock of one holds up no other.
 */
import {
  AccountLocked,
  isConnectionLoss,
  isLockTimeout,
  isOutage,
  isRolledBack,
  isStatementTimeout,
  DatabaseUnresponsive,
} from "../../platform/database/errors.ts";
import type { Database, Queryable, TxOptions } from "../../platform/database/database.ts";
import { setImmediate as nextImmediate } from "node:timers/promises";
import { faultPoint } from "../../platform/fault-injection.ts";
import { createRunRows, type ClaimLease, type CreateOutcome, type RunToCreate } from "./create-store.ts";
import { LOCK_TIMEOUT_MS } from "./account-lock-queue.ts";
import { commitOnce, isTransientFailure, type CommitOptions } from "./commit-once.ts";

/** A statement of so many takes some 30 ms; the next group begins as soon as it has ended. */
const RUNS_MAX = 32;
/** Of inputs as they are stored: over a thin line a statement must end in time. A run with more goes alone. */
const INPUTS_BYTES_MAX = 256 * 1_024;

/** Slots of the worker of this process, for runs that are about to be created. */
export interface Reservation {
  readonly lease: ClaimLease;
  /** Ends the reservation: these runs were claimed and begin, and the other slots are free. */
  begin(claimed: readonly RunToCreate[]): void;
  /** Ends it where nobody knows whether runs were created and claimed. */
  fail(): void;
}

/** Null: there is no room, or others wait for it. */
type Reserve = (runs: readonly RunToCreate[]) => Promise<Reservation | null>;

export interface RunCreates {
  /** From now on runs begin in this process as they are created, where its worker has room: no claim looks for them. */
  claimWith(reserve: Reserve): void;
  /**
   * @throws what `commitOnce` throws; DatabaseUnresponsive when a group before this run met a failure that it would meet as well;
   * AccountLocked when it has waited for too long.
   */
  create(run: RunToCreate): Promise<CreateOutcome>;
}

interface Waiting {
  readonly run: RunToCreate;
  /** Null: not counted yet, since it has been alone. */
  bytes: number | null;
  readonly sinceMs: number;
  /** Whether it was sent, with an end that nobody knows. */
  isUnknown: boolean;
  readonly resolve: (outcome: CreateOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export function createRunCreates({ db, accountLocks }: CommitOptions & { readonly db: Database }): RunCreates {
  const waiting: Waiting[] = [];
  /** By account, while its creates go apart. */
  const waitingApart = new Map<string, Waiting[]>();
  let isSending = false;
  let reserve: Reserve = async () => null;

  async function sendGroups(): Promise<void> {
    isSending = true;
    await nextImmediate(); // an admission lets in many at once: they go together from the first on
    for (let group = takeGroup(waiting); group.length > 0; group = takeGroup(waiting)) await sendGroup(group);
    isSending = false;
  }

  async function sendGroup(group: readonly Waiting[]): Promise<void> {
    // Locks of several accounts are taken in the order of their ids everywhere.
    const ordered = group.toSorted((a, b) => compareIds(a.run.accountId, b.run.accountId));
    try {
      const runs = ordered.map(({ run }) => run);
      resolveAll(ordered, await send({ db, reserve }, runs, { signal: accountLocks.stopping }));
    } catch (error) {
      for (const one of ordered) one.isUnknown = isConnectionLoss(error);
      const mayPass = isLockTimeout(error) || isTransientFailure(error);
      if (!mayPass && (ordered.length === 1 || !isAboutOne(error))) return rejectAll(ordered, error);
      for (const [accountId, own] of Map.groupBy(ordered, ({ run }) => run.accountId)) void createApart(accountId, own);
    }
  }

  async function createApart(accountId: string, first: readonly Waiting[]): Promise<void> {
    const own = [...first];
    waitingApart.set(accountId, own);
    own.push(...takeAll(waiting, ({ run }) => run.accountId === accountId));
    for (let group = takeGroup(own); group.length > 0; group = takeGroup(own)) {
      try {
        await createGroup(accountId, group);
      } catch (error) {
        if (group.length > 1 && isAboutOne(error)) await createEach(accountId, group);
        else rejectAll(group, error);
        if (!isAboutOne(error)) rejectAll(own.splice(0), new DatabaseUnresponsive(error));
      }
    }
    waitingApart.delete(accountId);
  }

  /** One run that the database refuses must not fail the others: each is then created alone. */
  async function createEach(accountId: string, group: readonly Waiting[]): Promise<void> {
    for (const one of group) await createGroup(accountId, [one]).catch(one.reject);
  }

  async function createGroup(accountId: string, group: readonly Waiting[]): Promise<void> {
    const runs = group.map(({ run }) => run);
    const commit = (limits: TxOptions) => send({ db, reserve }, runs, limits);
    const isUnknown = group.some((one) => one.isUnknown);
    resolveAll(group, await commitOnce(accountId, { accountLocks, isUnknown }, commit));
  }

  return {
    claimWith: (given) => {
      reserve = given;
    },
    create: (run) =>
      new Promise((resolve, reject) => {
        const queue = waitingApart.get(run.accountId) ?? waiting;
        queue.push({ run, bytes: null, sinceMs: performance.now(), isUnknown: false, resolve, reject });
        if (!isSending) void sendGroups();
      }),
  };
}

function compareIds(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function resolveAll(creates: readonly Waiting[], outcomes: readonly CreateOutcome[]): void {
  for (const [i, { resolve }] of creates.entries()) resolve(outcomes[i] as CreateOutcome);
}

function rejectAll(creates: readonly Waiting[], error: unknown): void {
  for (const { reject } of creates) reject(error);
}

/** Whatever else failed would fail for the others as well. */
function isAboutOne(error: unknown): boolean {
  return isRolledBack(error) && (isStatementTimeout(error) || !isOutage(error)) && !(error instanceof AccountLocked);
}

interface SendOptions {
  readonly db: Database;
  readonly reserve: Reserve;
}

async function send(
  { db, reserve }: SendOptions,
  runs: readonly RunToCreate[],
  limits: TxOptions,
): Promise<readonly CreateOutcome[]> {
  await faultPoint("create.before_commit");
  const once: Queryable = { query: (statement, values) => db.once(statement, values, limits) };
  const reservation = await reserve(runs);
  try {
    const outcomes = await createRunRows(once, runs, reservation?.lease ?? null);
    const claimed = runs.filter((_, i) => outcomes[i]?.kind === "claimed");
    if (claimed.length > 0) await faultPoint("create.claimed");
    reservation?.begin(claimed);
    return outcomes;
  } catch (error) {
    if (isRolledBack(error)) reservation?.begin([]);
    else reservation?.fail();
    throw error;
  }
}

/**
 * Removes as many as one statement may carry, the first ones, and rejects those that have waited too long before them. What
 * became of a run that was sent must be found out first.
 */
function takeGroup(waiting: Waiting[]): readonly Waiting[] {
  const nowMs = performance.now();
  while (waiting[0]?.isUnknown === false && nowMs - waiting[0].sinceMs > LOCK_TIMEOUT_MS)
    waiting.shift()?.reject(new AccountLocked(LOCK_TIMEOUT_MS));
  if (waiting.length === 1) return waiting.splice(0);
  let runs = 0;
  let bytes = 0;
  return takeAll(waiting, (one) => {
    if (runs === RUNS_MAX || bytes > INPUTS_BYTES_MAX) return false;
    one.bytes ??= Buffer.byteLength(JSON.stringify(one.run.inputs));
    bytes += one.bytes;
    if (runs > 0 && bytes > INPUTS_BYTES_MAX) return false;
    runs += 1;
    return true;
  });
}

function takeAll(waiting: Waiting[], isWanted: (one: Waiting) => boolean): Waiting[] {
  const { taken = [], left = [] } = Object.groupBy(waiting.splice(0), (one) => (isWanted(one) ? "taken" : "left"));
  waiting.push(...left);
  return taken;
}
