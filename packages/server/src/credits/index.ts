export { findStanding, freezeAccount, isFrozen, unfreezeAccount, type CreditStanding } from "./freezes-store.ts";
export { adjustCredits, availableCredits, grantCredits, type UsedGrant } from "./ledger.ts";
export { collectEarnings, expireCredits } from "./periodic.ts";
export { checkLedger, createAudit, type LedgerReport } from "./reconcile.ts";
export { creditsRoutes } from "./credits-routes.ts";
export {
  isDecimal,
  nanoCredits,
  parseCredits,
  scaleRate,
  wholeCredits,
  type PricedUse,
  type PriceRates,
} from "./price.ts";
