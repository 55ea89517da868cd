export { beginDeletion, finishDeletions, type DeletionPorts } from "./delete-account.ts";
export { exportAccount, type ExportPorts } from "./export-account.ts";
export { offboardingManageRoutes } from "./offboarding-manage-routes.ts";
