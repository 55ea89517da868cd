/**
 * The request header that chooses among a person's accounts, by id. Absent: the personal account. A write with a session
 * cookie must carry it, since no page of another origin can send a header of its own making.
 */
export const ACCOUNT_HEADER = "Promptd-Account";

/** The same in the query, where a browser sends no header of ours: links to downloads, and EventSource. */
export const ACCOUNT_QUERY = "account";
