/**
 * Creates of one account run one after the other in the database, each with a flush of the disk before the next. So those
 * that come while one is under way go together when it has ended: one statement, one lock, one flush. An account that
 * creates one run at a time never waits.
 */
import { AccountLocked, TurnedAway } from "../../platform/database/errors.ts";
import type { Database, Queryable, TxOptions } from "../../platform/database/database.ts";
import { fault } from "../../platform/fault.ts";
import { createRunRow, createRunRows, type CreateOutcome, type RunToCreate } from "../runs-store.ts";
import { AccountLockQueue } from "./account-lock-queue.ts";
import { commitOnce, isMomentary, OutcomeUnknown, type CommitOptions } from "./commit-once.ts";

export { AccountLockQueue };

/** A statement of so many takes some 30 ms; the next group begins as soon as it has ended. */
const RUNS_MAX = 32;
/** Of inputs as they are stored: over a thin line a statement must end in time. A run with more goes alone. */
const INPUTS_BYTES_MAX = 256 * 1_024;

export interface RunCreates {
  /** @throws what `commitOnce` throws; TurnedAway when a group before this run met a failure that it would meet as well. */
  create(run: RunToCreate): Promise<CreateOutcome>;
}

interface Waiting {
  readonly run: RunToCreate;
  readonly resolve: (outcome: CreateOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export function createRunCreates({ db, accountLocks }: CommitOptions & { readonly db: Database }): RunCreates {
  /** Of the accounts that have a group under way. */
  const waitingOf = new Map<string, Waiting[]>();

  async function createGroup(accountId: string, group: readonly Waiting[]): Promise<void> {
    const runs = group.map(({ run }) => run);
    const outcomes = await commitOnce(accountId, { accountLocks }, (limits) => send(db, accountId, runs, limits));
    for (const [i, { resolve }] of group.entries()) resolve(outcomes[i] as CreateOutcome);
  }

  async function createAll(accountId: string, waiting: Waiting[]): Promise<void> {
    while (waiting.length > 0) {
      const group = takeGroup(waiting);
      await createGroup(accountId, group).catch((error: unknown) => {
        for (const { reject } of group) reject(error);
        const isOfAll = error instanceof OutcomeUnknown || error instanceof AccountLocked || isMomentary(error);
        if (isOfAll) for (const { reject } of waiting.splice(0)) reject(new TurnedAway(error));
      });
    }
    waitingOf.delete(accountId);
  }

  return {
    create: (run) =>
      new Promise((resolve, reject) => {
        const one = { run, resolve, reject };
        const waiting = waitingOf.get(run.accountId);
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

/** A run alone is sent by itself: its statement is planned once, and one with lists each time. */
async function send(
  db: Database,
  accountId: string,
  runs: readonly RunToCreate[],
  limits: TxOptions,
): Promise<readonly CreateOutcome[]> {
  await fault("create.before_commit");
  const once: Queryable = { query: (statement, values) => db.once(statement, values, limits) };
  const [first] = runs;
  return first !== undefined && runs.length === 1
    ? [await createRunRow(once, first)]
    : createRunRows(once, accountId, runs);
}

/** Removes the first ones, as many as one statement may carry. */
function takeGroup(waiting: Waiting[]): readonly Waiting[] {
  if (waiting.length === 1) return waiting.splice(0);
  let bytes = 0;
  const past = waiting.findIndex(({ run }, i) => {
    bytes += Buffer.byteLength(JSON.stringify(run.inputs));
    return i > 0 && (i === RUNS_MAX || bytes > INPUTS_BYTES_MAX);
  });
  return waiting.splice(0, past === -1 ? waiting.length : past);
}
