import type { AccountOfInstallation, ManagedRun, ManagedRunRow, Page } from "@promptd/contract/manage";
import { getAccountByName, listAccounts } from "../accounts/index.ts";
import type { Database } from "../platform/database/database.ts";
import { isUuid } from "../platform/ids.ts";
import { notFound, Problem } from "../platform/problem.ts";
import { findAccountOfRun, findManagedRun, listManagedRuns } from "../runs/read/managed-runs-store.ts";

const ROWS_MAX = 50;

/** What an operator looks up at the terminal when there is no other way: nothing here writes. */
export class LookupActs {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The newest accounts whose address, id or name has `text` in it. */
  async accounts(text: string | undefined): Promise<Page<AccountOfInstallation>> {
    return (await listAccounts(this.#db, { limit: ROWS_MAX, q: text })) ?? { rows: [], hasMore: false };
  }

  /** The newest runs of an account. @throws Problem NOT_FOUND_ERROR when there is no such account. */
  async runs(user: string, status: ManagedRunRow["runStatus"] | undefined): Promise<Page<ManagedRunRow>> {
    const { accountId } = await getAccountByName(this.#db, user);
    const page = await listManagedRuns(this.#db, accountId, { limit: ROWS_MAX, status });
    return page ?? { rows: [], hasMore: false };
  }

  /** A run of whichever account. @throws Problem NOT_FOUND_ERROR. */
  async run(runId: string): Promise<ManagedRun & { readonly userId: string }> {
    if (!isUuid(runId)) throw new Problem("VALIDATION_ERROR", `runId must be a UUID, got "${runId}".`);
    const userId = await findAccountOfRun(this.#db, runId);
    const run = userId === null ? null : await findManagedRun(this.#db, userId, runId);
    if (run === null || userId === null) throw notFound("run", runId);
    return { ...run, userId };
  }
}
