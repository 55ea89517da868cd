export { createAccount, getAccountByName, setPlan, type CreateAccount, type Plan } from "./accounts.ts";
export { accountsRoutes } from "./accounts-routes.ts";
export { addUserFlags, findAccount, findAccountByName } from "./accounts-store.ts";
export { createAdmissionControl, keyExpired, keyRevoked, overLimit, planRequired } from "./admission.ts";
export type { AdmissionControl } from "./admission.ts";
export { displayOf, hashApiKey, hasKeyForm, hasTokenForm, mintToken } from "./api-keys.ts";
export { createApiKey, getApiKeyByName, isLiveKey, revokeApiKey, revokeOwnKey } from "./keys.ts";
export { rollApiKey, updateApiKey, type CreateApiKey, type CreatedApiKey } from "./keys.ts";
export { findKey, listKeys, type ApiKey, type KeyTerms } from "./keys-store.ts";
