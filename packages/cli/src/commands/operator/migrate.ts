import type { Command } from "../../command.ts";
import { runOnServer } from "./run-operator.ts";

export const migrate: Command = {
  summary: "Bring the database schema up to date",
  usage: "",
  details: "The server does the same at every start. This command is for deployments that migrate in a separate step.",
  session: `$ promptd migrate
The schema is up to date.`,
  options: {
    "replace-functions": {
      type: "boolean",
      summary: "after a rollback: also replace a newer promptd's SQL functions with this version's",
    },
  },
  run: async (args, io) => {
    const options = { signal: io.signal, isRollback: args.flag("replace-functions") };
    const result = await runOnServer((server) => server.migrateDatabase(io.env, options));
    const names = result.applied.map((name) => `  ${name}`).join("\n");
    io.result(result, result.applied.length === 0 ? "The schema is up to date." : `Applied:\n${names}`);
  },
};
