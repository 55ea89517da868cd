export { AccountTurns } from "./create/account-lock-queue.ts";
export { createUsesCount } from "./count-uses.ts";
export { readDelivered, saveDelivered } from "./work/delivered-store.ts";
export { createFinisher } from "./work/finish-runs.ts";
export { pruneIdempotencyKeys } from "./create/idempotency.ts";
export { writeModelLimits } from "./work/queue.ts";
export { runsRoutes } from "./runs-routes.ts";
export { WaitingHub } from "./wait/wait-for-run.ts";
export { Worker } from "./work/worker.ts";
