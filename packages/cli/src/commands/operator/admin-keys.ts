import type { Command } from "../../command.ts";
import { readText, requireText, runAsOperator } from "./run-operator.ts";

export const keyCreate: Command = {
  summary: "Create an API key; it is shown this once",
  usage: "",
  options: {
    user: { type: "string", value: "EMAIL|USERID", summary: "Whose key (required)" },
    name: { type: "string", value: "N", summary: 'What it is for; "default" when absent' },
  },
  run: async (args, io) => {
    const user = requireText(args.text("user"), "--user", "ada@example.org");
    const name = readText(args.text("name"), "--name") ?? "default";
    const created = await runAsOperator(io, (operator) => operator.createKey(user, name));
    io.result(created, `${created.apiKey}\n(key id ${created.keyId}; the key is not shown again)`);
  },
};

export const keyRevoke: Command = {
  summary: "Revoke an API key; its next request gets 401",
  usage: "<keyId>",
  options: {},
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const revoked = await runAsOperator(io, (operator) => operator.revokeKey(args.positionals[0] ?? ""));
    io.result(revoked, `Revoked ${revoked.keyId} at ${revoked.revokedAt}.`);
  },
};
