import type { Command } from "../../command.ts";
import { runOnServer } from "./run-operator.ts";

export const migrate: Command = {
  summary: "Bring the database schema up to date",
  usage: "",
  details: "Every start does the same; this command is for deployments that want it as a step of its own.",
  options: {},
  run: async (_args, io) => {
    const result = await runOnServer((server) => server.migrateDatabase(io.env, io.signal));
    const names = result.applied.map((name) => `  ${name}`).join("\n");
    io.result(result, result.applied.length === 0 ? "The schema is up to date." : `Applied:\n${names}`);
  },
};
