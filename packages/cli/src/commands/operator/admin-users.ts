import { countOf } from "@promptd/contract";
import type { Command } from "../../command.ts";
import { readAmount, readPlan, readText, runAsOperator } from "./run-operator.ts";

export const userCreate: Command = {
  summary: "Create an account",
  usage: "",
  session: `$ promptd admin user create --email ada@example.org --username ada --credits 500
Created ada@example.org with plan pro and 500 credits.
01a206a8-a793-77b3-8286-96323e8a6ed0`,
  options: {
    email: {
      type: "string",
      value: "E",
      isRequired: true,
      summary: "email address; identifies the account in other commands",
    },
    username: { type: "string", value: "U", summary: "public user name" },
    "display-name": { type: "string", value: "D", summary: "name to show" },
    plan: { type: "string", value: "pro|none", summary: "plan; the API requires pro (default: pro)" },
    credits: { type: "string", value: "N", summary: "initial credits (default: 0)" },
  },
  run: async (args, io) => {
    const user = {
      email: args.required("email"),
      username: readText(args.text("username"), "--username"),
      displayName: readText(args.text("display-name"), "--display-name"),
      plan: readPlan(args.text("plan") ?? "pro"),
      credits: readAmount(args.text("credits") ?? "0", "--credits", 0),
    };
    const created = await runAsOperator(io, (operator) => operator.accounts.create(user));
    io.result(
      created,
      `Created ${created.email} with plan ${created.plan} and ${countOf(created.credits, "credit")}.\n${created.userId}`,
    );
  },
};
