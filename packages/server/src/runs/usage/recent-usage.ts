import type { Queryable } from "../../platform/database/database.ts";
import { findUsageOfKeys } from "./usage-store.ts";
import { findUsageOfPrompts, findUsageOfVersions } from "./version-use-store.ts";

const DAYS = 30;

/** Usage of the last 30 days, for slices that show it next to what they own. Items without usage are omitted. */
export function openUsage(db: Queryable) {
  return {
    usageOfKeys: (accountId: string) => findUsageOfKeys(db, accountId, DAYS),
    usageOfPrompts: (promptIds: readonly string[]) => findUsageOfPrompts(db, promptIds, DAYS),
    usageOfVersions: (promptId: string) => findUsageOfVersions(db, promptId, DAYS),
  };
}
