import type { Queryable } from "../../platform/database/database.ts";
import { findUsageOfKeys } from "./usage-store.ts";
import { findUsageOfPrompts, findUsageOfVersions } from "./version-use-store.ts";

const DAYS = 30;

/** What was used in the last 30 days, for slices that show it beside what they own. What has no use is missing. */
export function openUsage(db: Queryable) {
  return {
    usageOfKeys: (accountId: string) => findUsageOfKeys(db, accountId, DAYS),
    usageOfPrompts: (promptIds: readonly string[]) => findUsageOfPrompts(db, promptIds, DAYS),
    usageOfVersions: (promptId: string) => findUsageOfVersions(db, promptId, DAYS),
  };
}
