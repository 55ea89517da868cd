export { batchesRoutes, cancelRunsOf } from "./batches-routes.ts";
export { createBatchStarter, type BatchStarter } from "./start-batches.ts";
