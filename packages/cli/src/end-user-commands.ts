import type { CommandTable } from "./command.ts";

/** Commands that speak to a server over HTTP through @promptd/client, and never load the server. */
export const END_USER_COMMANDS: CommandTable = {
  search: async () => (await import("./commands/search.ts")).search,
  show: async () => (await import("./commands/show.ts")).show,
  run: async () => (await import("./commands/run.ts")).run,
  "runs list": async () => (await import("./commands/runs.ts")).runsList,
  "runs get": async () => (await import("./commands/runs.ts")).runsGet,
  "runs cancel": async () => (await import("./commands/runs.ts")).runsCancel,
  models: async () => (await import("./commands/models.ts")).models,
  me: async () => (await import("./commands/me.ts")).me,
  "config set": async () => (await import("./commands/config.ts")).configSet,
  "config get": async () => (await import("./commands/config.ts")).configGet,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
};
