export {
  createAccount,
  createApiKey,
  getAccountByName,
  isLiveKey,
  revokeApiKey,
  setPlan,
  type CreateAccount,
  type Plan,
} from "./accounts.ts";
export { accountsRoutes } from "./accounts-routes.ts";
export { addUserFlags, findAccountByName } from "./accounts-store.ts";
export { createAdmissionControl, keyRevoked, type AdmissionControl } from "./admission.ts";
