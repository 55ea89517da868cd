export { createDeliverer, type Deliverer } from "./deliver.ts";
export { readWebhooksMetrics } from "./deliveries-store.ts";
export { createSecretVault, type SecretVault } from "./webhook-secrets.ts";
export { webhooksManageRoutes } from "./webhooks-manage-routes.ts";
export { webhooksOfAccount } from "./webhooks-of-account.ts";
export { webhooksTicks } from "./webhooks-ticks.ts";
