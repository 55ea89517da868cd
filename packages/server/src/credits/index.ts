export { findStanding, freezeAccount, isFrozen, unfreezeAccount, type CreditStanding } from "./freezes-store.ts";
export { giveCredits } from "./grants.ts";
export { adjustCredits, availableCredits, grantCredits } from "./ledger.ts";
export { collectEarnings, expireCredits } from "./periodic.ts";
export { checkLedger, createAudit, type LedgerReport } from "./reconcile.ts";
export { creditsManageRoutes } from "./credits-manage-routes.ts";
export { creditsRoutes } from "./credits-routes.ts";
export { isDecimal, nanoCredits, parseCredits, scaleRate, wholeCredits } from "./price.ts";
export type { PricedUse, PriceRates } from "./price.ts";
