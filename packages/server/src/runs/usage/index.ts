export { createUsageRollUp } from "./roll-up.ts";
export { usageManageRoutes } from "./usage-manage-routes.ts";
export { deleteOldUsage } from "./usage-store.ts";
export { openUsage } from "./recent-usage.ts";
