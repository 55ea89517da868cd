import { CommandFailure, type Command } from "../../command.ts";
import { readTime } from "../../flag-values.ts";
import { readPlan, runAsOperator, warnOfPast } from "./run-operator.ts";

export const planSet: Command = {
  summary: "Set the plan of an account",
  usage: "",
  session: `$ promptd admin plan set --user ada@example.org --plan pro --until 2027-12-31
ada@example.org has plan pro until 2027-12-31T00:00:00.000Z.`,
  options: {
    user: { type: "string", value: "EMAIL|USERID", isRequired: true, summary: "the account" },
    plan: { type: "string", value: "pro|none", isRequired: true, summary: "the plan; the API requires pro" },
    until: { type: "string", value: "ISO8601", summary: "when the plan ends (default: never)" },
  },
  run: async (args, io) => {
    const user = args.required("user");
    const plan = readPlan(args.required("plan"));
    const untilMs = readTime(args.text("until"), "--until");
    if (plan === "none" && untilMs !== null) throw new CommandFailure("--until requires --plan pro.");
    warnOfPast(io, "--until", untilMs, "The plan has already ended, and the API rejects the account's requests.");
    const set = await runAsOperator(io, (operator) => operator.accounts.setPlan(user, plan, untilMs));
    io.result(set, `${user} has plan ${set.plan}${set.until === null ? "" : ` until ${set.until}`}.`);
  },
};
