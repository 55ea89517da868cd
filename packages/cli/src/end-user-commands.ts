import type { CommandTable } from "./command.ts";

/** Commands that speak to a server over HTTP through @promptd/client, and never load the server. */
export const END_USER_COMMANDS: CommandTable = {
  login: async () => (await import("./commands/login.ts")).login,
  logout: async () => (await import("./commands/login.ts")).logout,
  whoami: async () => (await import("./commands/me.ts")).whoami,
  search: async () => (await import("./commands/search.ts")).search,
  show: async () => (await import("./commands/show.ts")).show,
  run: async () => (await import("./commands/run.ts")).run,
  "runs list": async () => (await import("./commands/runs.ts")).runsList,
  "runs get": async () => (await import("./commands/runs.ts")).runsGet,
  "runs watch": async () => (await import("./commands/runs.ts")).runsWatch,
  "runs cancel": async () => (await import("./commands/runs.ts")).runsCancel,
  "keys list": async () => (await import("./commands/keys.ts")).keysList,
  "keys create": async () => (await import("./commands/keys.ts")).keysCreate,
  "keys roll": async () => (await import("./commands/keys.ts")).keysRoll,
  "keys revoke": async () => (await import("./commands/keys.ts")).keysRevoke,
  credits: async () => (await import("./commands/credits.ts")).credits,
  usage: async () => (await import("./commands/credits.ts")).usage,
  models: async () => (await import("./commands/models.ts")).models,
  me: async () => (await import("./commands/me.ts")).me,
  open: async () => (await import("./commands/open.ts")).open,
  "config set": async () => (await import("./commands/config.ts")).configSet,
  "config get": async () => (await import("./commands/config.ts")).configGet,
  "config unset": async () => (await import("./commands/config.ts")).configUnset,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  completion: async () => (await import("./commands/completion.ts")).completion,
};
