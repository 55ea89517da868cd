export { batchesRoutes, cancelRunsOf } from "./batches-routes.ts";
export { createBatchStarter } from "./start-batches.ts";
