/**
 * Groups creates. Each commit flushes the disk, and only one transaction at a time may claim the runs it creates. So
 * creates of all accounts that arrive in one iteration of the event loop, or while a statement is in progress, are sent
 * together: one round trip, one flush, and no run that a claim has to search for. When a statement fails, its accounts
 * are separated, and each account's creates are retried on their own, so that one locked account delays no other.
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

/** A statement with this many runs takes about 30 ms; the next group starts as soon as it ends. */
const RUNS_MAX = 32;
/** Size of stored inputs: on a slow link, a statement must still finish in time. A larger run is sent alone. */
const INPUTS_BYTES_MAX = 256 * 1_024;

/** Slots of this process's worker for runs that are about to be created. */
export interface Reservation {
  readonly lease: ClaimLease;
  /** Ends the reservation: the claimed runs begin, and the other slots are free. */
  begin(claimed: readonly RunToCreate[]): void;
  /** Ends the reservation when it is unknown whether runs were created and claimed. */
  fail(): void;
}

/** Null: there is no room, or other runs are waiting for it. */
type Reserve = (runs: readonly RunToCreate[]) => Promise<Reservation | null>;

export interface RunCreates {
  /**
   * From now on, runs start in this process as soon as they are created if its worker has room, without a separate
   * claim.
   */
  claimWith(reserve: Reserve): void;
  /**
   * @throws what `commitOnce` throws; DatabaseUnresponsive if an earlier group hit a failure that this run would hit as
   * well; AccountLocked if it waited too long.
   */
  create(run: RunToCreate): Promise<CreateOutcome>;
}

interface Waiting {
  readonly run: RunToCreate;
  /** Null: not counted yet, because it has been alone. */
  bytes: number | null;
  readonly sinceMs: number;
  /** Whether it was sent with an unknown outcome. */
  isUnknown: boolean;
  readonly resolve: (outcome: CreateOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export function createRunCreates({ db, accountLocks }: CommitOptions & { readonly db: Database }): RunCreates {
  const waiting: Waiting[] = [];
  /** Creates by account, for accounts that are sent separately. */
  const waitingApart = new Map<string, Waiting[]>();
  let isSending = false;
  let reserve: Reserve = async () => null;

  async function sendGroups(): Promise<void> {
    isSending = true;
    await nextImmediate(); // one admission lets in many at once: this sends them together from the first on
    for (let group = takeGroup(waiting); group.length > 0; group = takeGroup(waiting)) await sendGroup(group);
    isSending = false;
  }

  async function sendGroup(group: readonly Waiting[]): Promise<void> {
    // Everywhere, locks of several accounts are taken in id order.
    const ordered = group.toSorted((a, b) => compareIds(a.run.accountId, b.run.accountId));
    try {
      const runs = ordered.map(({ run }) => run);
      resolveAll(ordered, await send(db, reserve, runs, { signal: accountLocks.stopping }));
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

  /** A run that the database refuses must not fail the others, so each one is then created alone. */
  async function createEach(accountId: string, group: readonly Waiting[]): Promise<void> {
    for (const one of group) await createGroup(accountId, [one]).catch(one.reject);
  }

  async function createGroup(accountId: string, group: readonly Waiting[]): Promise<void> {
    const runs = group.map(({ run }) => run);
    const commit = (limits: TxOptions) => send(db, reserve, runs, limits);
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

/** Any other failure would affect the other creates as well. */
function isAboutOne(error: unknown): boolean {
  return isRolledBack(error) && (isStatementTimeout(error) || !isOutage(error)) && !(error instanceof AccountLocked);
}

async function send(
  db: Database,
  reserve: Reserve,
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
 * Removes the first creates from the queue, as many as one statement may carry, after rejecting any that have waited
 * too long. Creates that were already sent are not rejected: their outcome must be found out first.
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
