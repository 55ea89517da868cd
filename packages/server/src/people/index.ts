export { auditCommand, type OperatorCommand } from "./audit/audit.ts";
export { createPeople, openWebhookMails, peopleTicks, type People } from "./create-people.ts";
export { describeAccess, endAccountAccess } from "./end-account-access.ts";
export { readMailState } from "./mail/mails-store.ts";
export { authEndpoint } from "./sign-in/auth-endpoint.ts";
export { makeWelcome } from "./first-operator.ts";
export { actorOf } from "./people-manage-routes.ts";
export { listAskedLinks, listOperatorsWithoutSignIn } from "./people-store.ts";
export { mintCode } from "./sign-in-codes.ts";
