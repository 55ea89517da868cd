import type { Modality } from "@promptd/contract";

/** Minutes from creation after which a run that is not final is stopped; one of several steps gets the longest of its own. */
export const DEADLINE_MINUTES: Readonly<Record<Modality, number>> = { text: 10, image: 5, video: 30 };
export const DEADLINE_MINUTES_MAX = Math.max(...Object.values(DEADLINE_MINUTES));

/**
 * How long a statement waits for the lock of an account: enough for some commits of others, on a slow disk too. The
 * functions of sql/create.sql and sql/finish.sql, which are transactions by themselves, set the same.
 */
export const ACCOUNT_LOCK_MS = 200;
