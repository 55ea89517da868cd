export { createUsageRollUp } from "./roll-up.ts";
export { deleteOldUsage, findUsageOfKeys, listEarnings, listUsage } from "./usage-store.ts";
