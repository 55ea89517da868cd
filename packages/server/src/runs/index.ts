export { AccountTurns } from "./account-turns.ts";
export { createUsesCount } from "./count-uses.ts";
export { readDelivered, saveDelivered } from "./delivered-store.ts";
export { createFinisher } from "./finish-runs.ts";
export { pruneIdempotencyKeys } from "./idempotency.ts";
export { writeModelLimits } from "./queue.ts";
export { runsRoutes } from "./runs-routes.ts";
export { WaitingHub } from "./wait-for-run.ts";
export { Worker } from "./worker.ts";
