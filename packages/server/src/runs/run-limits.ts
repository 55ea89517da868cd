import type { Modality } from "@promptd/contract";

/**
 * Minutes after creation at which a run that is not final is stopped; a run with several steps gets the longest of
 * their deadlines.
 */
export const DEADLINE_MINUTES: Readonly<Record<Modality, number>> = { text: 10, image: 5, video: 30 };
export const DEADLINE_MINUTES_MAX = Math.max(...Object.values(DEADLINE_MINUTES));

/** Runs have one lane; the statements already support more, if scale ever requires it. */
export const LANE = 0;

/**
 * How long a statement waits for an account's lock: enough for some commits of others, even on a slow disk. The
 * functions in sql/create.sql and sql/finish.sql, which are transactions of their own, set the same limit.
 */
export const ACCOUNT_LOCK_MS = 200;
