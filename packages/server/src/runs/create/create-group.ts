/**
 * Creates of one account run one after the other in the database, each with a flush of the disk before the next. So those
 * that come while one is under way go together when it has ended: one statement, one lock, one flush. An account that
 * creates one run at a time never waits.
 */
import {
  AccountLocked,
  isOutage,
  isRolledBack,
  isStatementTimeout,
  TurnedAway,
} from "../../platform/database/errors.ts";
import type { Database, Queryable, TxOptions } from "../../platform/database/database.ts";
import { fault } from "../../platform/fault.ts";
import { createRunRow, createRunRows, type ClaimLease, type CreateOutcome, type RunToCreate } from "./create-store.ts";
import { AccountLockQueue, LOCK_TIMEOUT_MS } from "./account-lock-queue.ts";
import { commitOnce, type CommitOptions } from "./commit-once.ts";

export { AccountLockQueue };

/** A statement of so many takes some 30 ms; the next group begins as soon as it has ended. */
const RUNS_MAX = 32;
/** Of inputs as they are stored: over a thin line a statement must end in time. A run with more goes alone. */
const INPUTS_BYTES_MAX = 256 * 1_024;

/** Slots of the worker of this process, for runs that are about to be created. */
export interface Reservation {
  readonly lease: ClaimLease;
  /** For the first ones of those that were asked for. */
  readonly slots: number;
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
   * @throws what `commitOnce` throws; TurnedAway when a group before this run met a failure that it would meet as well;
   * AccountLocked when it has waited for too long.
   */
  create(run: RunToCreate): Promise<CreateOutcome>;
}

interface Waiting {
  readonly run: RunToCreate;
  readonly bytes: number;
  readonly sinceMs: number;
  readonly resolve: (outcome: CreateOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export function createRunCreates({ db, accountLocks }: CommitOptions & { readonly db: Database }): RunCreates {
  /** Of the accounts that have a group under way. */
  const waitingOf = new Map<string, Waiting[]>();
  let reserve: Reserve = async () => null;

  async function createGroup(accountId: string, group: readonly Waiting[]): Promise<void> {
    const runs = group.map(({ run }) => run);
    const outcomes = await commitOnce(accountId, { accountLocks }, (limits) => send({ db, reserve }, runs, limits));
    for (const [i, { resolve }] of group.entries()) resolve(outcomes[i] as CreateOutcome);
  }

  /** One run that the database refuses must not fail the others: each is then created alone. */
  async function createEach(accountId: string, group: readonly Waiting[]): Promise<void> {
    for (const one of group) await createGroup(accountId, [one]).catch(one.reject);
  }

  async function createAll(accountId: string, waiting: Waiting[]): Promise<void> {
    for (let group = takeGroup(waiting); group.length > 0; group = takeGroup(waiting)) {
      try {
        await createGroup(accountId, group);
      } catch (error) {
        if (group.length > 1 && isAboutOne(error)) await createEach(accountId, group);
        else rejectAll(group, error);
        if (!isAboutOne(error)) rejectAll(waiting.splice(0), new TurnedAway(error));
      }
    }
    waitingOf.delete(accountId);
  }

  return {
    claimWith: (given) => {
      reserve = given;
    },
    create: (run) =>
      new Promise((resolve, reject) => {
        const waiting = waitingOf.get(run.accountId);
        const bytes = waiting === undefined ? 0 : Buffer.byteLength(JSON.stringify(run.inputs));
        const one = { run, bytes, sinceMs: performance.now(), resolve, reject };
        if (waiting !== undefined) {
          waiting.push(one);
          return;
        }
        const first = [one];
        waitingOf.set(run.accountId, first);
        void createAll(run.accountId, first);
      }),
  };
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
  await fault("create.before_commit");
  const once: Queryable = { query: (statement, values) => db.once(statement, values, limits) };
  const reservation = await reserve(runs);
  try {
    const outcomes = await createRows(once, runs, reservation);
    const claimed = runs.filter((_, i) => outcomes[i]?.kind === "claimed");
    if (claimed.length > 0) await fault("create.claimed");
    reservation?.begin(claimed);
    return outcomes;
  } catch (error) {
    if (isRolledBack(error)) reservation?.begin([]);
    else reservation?.fail();
    throw error;
  }
}

/** A run alone is sent by itself: its statement is planned once, and one with lists each time. */
async function createRows(
  db: Queryable,
  runs: readonly RunToCreate[],
  reservation: Reservation | null,
): Promise<readonly CreateOutcome[]> {
  const [first] = runs;
  if (first !== undefined && runs.length === 1) return [await createRunRow(db, first, reservation?.lease ?? null)];
  return createRunRows(db, runs, reservation && { ...reservation.lease, runsMax: reservation.slots });
}

/** Removes the first ones, as many as one statement may carry, and rejects those that have waited too long before them. */
function takeGroup(waiting: Waiting[]): readonly Waiting[] {
  const nowMs = performance.now();
  while (waiting[0] !== undefined && nowMs - waiting[0].sinceMs > LOCK_TIMEOUT_MS)
    waiting.shift()?.reject(new AccountLocked(LOCK_TIMEOUT_MS));
  let bytes = 0;
  const past = waiting.findIndex((one, i) => {
    if (i === RUNS_MAX) return true;
    bytes += one.bytes;
    return i > 0 && bytes > INPUTS_BYTES_MAX;
  });
  return waiting.splice(0, past === -1 ? waiting.length : past);
}
