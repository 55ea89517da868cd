export { availableCredits, expireCredits, grantCredits } from "./ledger.ts";
export { checkLedger, freezeMismatches, type LedgerReport } from "./reconcile.ts";
export { creditsRoutes } from "./credits-routes.ts";
