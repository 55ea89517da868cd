export { createAccount, createApiKey, getAccountByName, revokeApiKey, setPlan, type Plan } from "./accounts.ts";
export { accountsRoutes } from "./accounts-routes.ts";
export { createDoor, type Door } from "./enter.ts";
