import { SLIPS_MAX, suggestName } from "@promptd/contract";
import type {
  ListedAccount,
  InstallationRun,
  InstallationRunRow,
  ManagedRun,
  ManagedRunRow,
  ModeratedPrompt,
  Page,
  PersonOfInstallation,
  UsageRow,
} from "@promptd/contract/manage";
import { getAccountByName, getAccountEvenDeleted, listAccounts } from "../accounts/index.ts";
import { describePerson, type PersonReport } from "../people/end-account-access-store.ts";
import { findPersonByEmail, listPeople } from "../people/people-store.ts";
import { findPersonOfAccount } from "../people/members-store.ts";
import { DAY_MS, dayOf, systemClock } from "../platform/clock.ts";
import { findModerated, findPromptId, listModerated, listSlugs } from "../prompts/moderation-store.ts";
import { listUsage, type MeasuredUsage } from "../runs/usage/usage-store.ts";
import type { CommandContext } from "../read-catalogue.ts";
import { isUuid } from "../platform/ids.ts";
import { notFound, Problem } from "../platform/problem.ts";
import { findInstallationRun, listInstallationRuns } from "../runs/read/installation-runs-store.ts";
import { findManagedRun, listManagedRuns } from "../runs/read/managed-runs-store.ts";

const ROWS_MAX = 50;
const USAGE_ROWS_MAX = 1_000;
interface UserReport {
  /** Null: nobody signs in to the account. */
  readonly person: PersonReport | null;
  /** Null: the name is a person's, not an account's. */
  readonly account: { readonly accountId: string; readonly email: string } | null;
}

/** What an operator can look up at the terminal. Nothing here writes. */
export function lookupActions({ db }: CommandContext) {
  return {
    /** The newest accounts whose address, id, or name contains `text`. */
    async accounts(text: string | undefined): Promise<Page<ListedAccount>> {
      return listAccounts(db, { limit: ROWS_MAX, q: text });
    },
    /** The newest people who sign in and whose address or name contains `text`. */
    async people(text: string | undefined): Promise<Page<PersonOfInstallation>> {
      return listPeople(db, { limit: ROWS_MAX, q: text });
    },
    /** A person, or the owner of an account, with their sign-in methods. @throws Problem NOT_FOUND_ERROR. */
    async user(name: string): Promise<UserReport> {
      const person = await findPersonByEmail(db, name);
      const account = person === null ? await getAccountByName(db, name) : null;
      const personId = person ?? (await findPersonOfAccount(db, account?.accountId ?? ""));
      return { person: await describePerson(db, personId), account };
    },
    /** The newest prompts ever published whose title, slug, or author contains `text`. */
    async prompts(text: string | undefined): Promise<Page<ModeratedPrompt>> {
      return listModerated(db, { limit: ROWS_MAX, q: text });
    },
    /** A prompt by its slug or id. @throws Problem NOT_FOUND_ERROR, with the most similar slug. */
    async prompt(name: string): Promise<ModeratedPrompt> {
      const promptId = isUuid(name) ? name.toLowerCase() : await findPromptId(db, name.toLowerCase());
      const prompt = promptId === null ? null : await findModerated(db, promptId);
      if (prompt !== null) return prompt;
      const near = suggestName(name.toLowerCase(), await listSlugs(db, name.length, SLIPS_MAX), SLIPS_MAX);
      const next = near === null ? 'List all prompts with "promptd admin prompt list".' : `Did you mean ${near}?`;
      throw new Problem("NOT_FOUND_ERROR", `No published prompt has the slug or id "${name}". ${next}`);
    },
    /** An account's usage in the last days, including today (UTC), by prompt and model. */
    async usage(user: string, days: number): Promise<{ userId: string; rows: UsageRow[] }> {
      const { accountId } = await getAccountEvenDeleted(db, user);
      const request = { accountId, ...lastDays(days), by: ["prompt", "model"], rowsMax: USAGE_ROWS_MAX } as const;
      return { userId: accountId, rows: await listUsage(db, request) };
    },
    /** Every account's usage in the last days, including today (UTC). Accounts that paid most come first. */
    async usageOfAll(days: number): Promise<{ rows: MeasuredUsage[] }> {
      const request = { accountId: null, ...lastDays(days), by: ["account"], rowsMax: USAGE_ROWS_MAX } as const;
      return { rows: await listUsage(db, request) };
    },
    /** The newest runs of an account. @throws Problem NOT_FOUND_ERROR when the account does not exist. */
    async runs(user: string, status: ManagedRunRow["runStatus"] | undefined): Promise<Page<ManagedRunRow>> {
      const { accountId } = await getAccountEvenDeleted(db, user);
      return listManagedRuns(db, accountId, { limit: ROWS_MAX, status });
    },
    /** The newest runs of all accounts in the past day. */
    async runsOfAll(status: ManagedRunRow["runStatus"] | undefined): Promise<Page<InstallationRunRow>> {
      return listInstallationRuns(db, { limit: ROWS_MAX, status }, systemClock.nowMs());
    },
    /** A run of any account, with the reason it failed. @throws Problem NOT_FOUND_ERROR. */
    async run(runId: string): Promise<InstallationRun & ManagedRun & { readonly userId: string }> {
      if (!isUuid(runId)) throw new Problem("VALIDATION_ERROR", `runId must be a UUID, got "${runId}".`);
      const found = await findInstallationRun(db, runId);
      const run = found === null ? null : await findManagedRun(db, found.accountId, runId);
      if (found === null || run === null) throw notFound("run", runId);
      return { ...run, ...found, userId: found.accountId };
    },
  };
}

/** The stored dates of the last days, including today (UTC). */
function lastDays(days: number): { readonly from: string; readonly to: string } {
  const nowMs = systemClock.nowMs();
  return { from: dayOf(nowMs - (days - 1) * DAY_MS), to: dayOf(nowMs) };
}
