import type { Command } from "../../command.ts";
import { readPlan, readTime, requireText, runAsOperator } from "./run-operator.ts";

export const planSet: Command = {
  summary: "Set the plan of an account",
  usage: "",
  options: {
    user: { type: "string", value: "EMAIL|USERID", summary: "Whose plan" },
    plan: { type: "string", value: "pro|none", summary: "The plan" },
    until: { type: "string", value: "ISO8601", summary: "When it ends (never)" },
  },
  run: async (args, io) => {
    const user = requireText(args.text("user"), "--user", "ada@example.org");
    const plan = readPlan(args.text("plan"));
    const untilMs = readTime(args.text("until"), "--until");
    const set = await runAsOperator(io, (operator) => operator.setPlan(user, plan, untilMs));
    io.result(set, `${user} has plan ${set.plan}${set.until === null ? "" : ` until ${set.until}`}.`);
  },
};
