import type { CommandTable } from "./command.ts";

/**
 * Commands that work on the database in this process. Each module is loaded only when its command is used, and it
 * loads the server only inside `run`, so that help and end-user commands stay fast.
 */
export const OPERATOR_COMMANDS: CommandTable = {
  serve: async () => (await import("./commands/operator/serve.ts")).serve,
  migrate: async () => (await import("./commands/operator/migrate.ts")).migrate,
  "admin user create": async () => (await import("./commands/operator/admin-users.ts")).userCreate,
  "admin user list": async () => (await import("./commands/operator/admin-lookup.ts")).userList,
  "admin user show": async () => (await import("./commands/operator/admin-lookup.ts")).userShow,
  "admin usage list": async () => (await import("./commands/operator/admin-lookup.ts")).usageList,
  "admin usage show": async () => (await import("./commands/operator/admin-lookup.ts")).usageShow,
  "admin run list": async () => (await import("./commands/operator/admin-lookup.ts")).runList,
  "admin run show": async () => (await import("./commands/operator/admin-lookup.ts")).runShow,
  "admin sign-in-link": async () => (await import("./commands/operator/admin-people.ts")).signInLink,
  "admin key create": async () => (await import("./commands/operator/admin-keys.ts")).keyCreate,
  "admin key list": async () => (await import("./commands/operator/admin-keys.ts")).keyList,
  "admin key show": async () => (await import("./commands/operator/admin-keys.ts")).keyShow,
  "admin key roll": async () => (await import("./commands/operator/admin-keys.ts")).keyRoll,
  "admin key revoke": async () => (await import("./commands/operator/admin-keys.ts")).keyRevoke,
  "admin token revoke": async () => (await import("./commands/operator/admin-keys.ts")).tokenRevoke,
  "admin plan set": async () => (await import("./commands/operator/admin-plan.ts")).planSet,
  "admin credits grant": async () => (await import("./commands/operator/admin-credits.ts")).creditsGrant,
  "admin prompt publish": async () => (await import("./commands/operator/admin-prompts.ts")).promptPublish,
  "admin prompt unpublish": async () => (await import("./commands/operator/admin-prompts.ts")).promptUnpublish,
  "admin prompt republish": async () => (await import("./commands/operator/admin-prompts.ts")).promptRepublish,
  "admin prompt list": async () => (await import("./commands/operator/admin-prompt-lookup.ts")).promptList,
  "admin prompt show": async () => (await import("./commands/operator/admin-prompt-lookup.ts")).promptShow,
  "admin prompt share": async () => (await import("./commands/operator/admin-prompt-lookup.ts")).promptShare,
  "admin models list": async () => (await import("./commands/operator/admin-models.ts")).modelsList,
  "admin models show": async () => (await import("./commands/operator/admin-models.ts")).modelsShow,
  "admin models check": async () => (await import("./commands/operator/admin-models.ts")).modelsCheck,
  "admin account list": async () => (await import("./commands/operator/admin-lookup.ts")).accountList,
  "admin account show": async () => (await import("./commands/operator/admin-account.ts")).accountShow,
  "admin account export": async () => (await import("./commands/operator/admin-offboarding.ts")).accountExport,
  "admin account delete": async () => (await import("./commands/operator/admin-offboarding.ts")).accountDelete,
  "admin account freeze": async () => (await import("./commands/operator/admin-account.ts")).accountFreeze,
  "admin account unfreeze": async () => (await import("./commands/operator/admin-account.ts")).accountUnfreeze,
  "admin ledger adjust": async () => (await import("./commands/operator/admin-ledger.ts")).ledgerAdjust,
  "admin ledger check": async () => (await import("./commands/operator/admin-ledger.ts")).ledgerCheck,
};
