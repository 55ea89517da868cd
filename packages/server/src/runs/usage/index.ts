export { createUsageRollUp } from "./roll-up.ts";
export { usageManageRoutes } from "./usage-manage-routes.ts";
export { deleteOldUsage, findUsageOfKeys } from "./usage-store.ts";
