/**
 * The request header that chooses among a person's accounts, by id. Absent: the personal account. A write with a session
 * cookie must carry it, since no page of another origin can send a header of its own making.
 */
export const ACCOUNT_HEADER = "Promptd-Account";

/** The same in the query, where a browser sends no header of ours: links to downloads, and EventSource. */
export const ACCOUNT_QUERY = "account";

/** An account as operators see it. */
export interface AccountOfInstallation {
  readonly accountId: string;
  readonly email: string;
  readonly name: string | null;
  readonly plan: "pro" | "none";
  /** When the plan ends or ended; null: it has no end, or there never was one. */
  readonly planUntil: string | null;
  readonly createdAt: string;
}

/** The same in a list, with what it can spend now. */
export interface ListedAccount extends AccountOfInstallation {
  readonly available: number;
  /** It starts no runs that cost credits. */
  readonly isFrozen: boolean;
}

/** What callers and members see of an account; the marketplace shows it as the author of its prompts. */
export interface AccountName {
  readonly name: string;
}

export interface NamedAccount extends AccountName {
  readonly accountId: string;
}

export interface PlanChange {
  readonly plan: "pro" | "none";
  /** When a plan ends; absent or null: never. */
  readonly until?: string | null | undefined;
}

export interface FreezeChange {
  readonly isFrozen: boolean;
  /** Why; recorded forever. */
  readonly reason: string;
}

/** Deletes an account for good. */
export interface AccountDeletion {
  /** The email address of the account, typed once more. */
  readonly confirm: string;
  /** `remove`: unpublished, with every template gone; `keep`: published on, without a name. */
  readonly prompts: "remove" | "keep";
}

export interface DeletedAccount {
  readonly accountId: string;
  readonly prompts: AccountDeletion["prompts"];
  /** From then on nobody acts in it. */
  readonly askedAt: string;
  /** When all was gone; null: the server is at it. */
  readonly finishedAt: string | null;
}

/** Of an endpoint that answers a file instead of an envelope. */
export interface Archive {
  readonly isFile: true;
}
