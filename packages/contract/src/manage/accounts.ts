/**
 * The request header that selects one of a person's accounts by id. Absent: the personal account. A write with a
 * session cookie must send it, because a page of another origin cannot send custom headers.
 */
export const ACCOUNT_HEADER = "Promptd-Account";

/** The same as a query parameter, for requests on which a browser cannot send our header: downloads and EventSource. */
export const ACCOUNT_QUERY = "account";

/** An account as operators see it. */
export interface AccountOfInstallation {
  readonly accountId: string;
  readonly email: string;
  readonly name: string | null;
  readonly plan: "pro" | "none";
  /** When the plan ends or ended; null: it has no end, or there never was a plan. */
  readonly planUntil: string | null;
  readonly createdAt: string;
}

/** An account in a list, with the credits it can spend now. */
export interface ListedAccount extends AccountOfInstallation {
  readonly available: number;
  /** A frozen account cannot start runs that cost credits. */
  readonly isFrozen: boolean;
}

/** The account's name. The marketplace shows it as the author of the account's prompts. */
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
  /** Recorded forever. */
  readonly reason: string;
}

/** Permanently deletes an account. */
export interface AccountDeletion {
  /** The account's email address, typed again. */
  readonly confirm: string;
  /** `remove`: unpublishes the prompts and deletes their templates; `keep`: they stay published, without a name. */
  readonly prompts: "remove" | "keep";
}

export interface DeletedAccount {
  readonly accountId: string;
  readonly prompts: AccountDeletion["prompts"];
  /** From then on, nobody can act in the account. */
  readonly askedAt: string;
  /** When the deletion was complete; null: it is in progress. */
  readonly finishedAt: string | null;
}

/** The response of an endpoint that returns a file instead of an envelope. */
export interface Archive {
  readonly isFile: true;
}
