import { countOf } from "@promptd/contract";
import type { Command } from "../../command.ts";
import { readTime } from "../../flag-values.ts";
import { readAmount, readText, runAsOperator } from "./run-operator.ts";

export const creditsGrant: Command = {
  summary: "Grant credits to an account",
  usage: "",
  session: `$ promptd admin credits grant --user ada@example.org --amount 50 --reason "Welcome"
ada@example.org can spend 550 credits.`,
  options: {
    user: { type: "string", value: "EMAIL|USERID", isRequired: true, summary: "who gets them" },
    amount: { type: "string", value: "N", isRequired: true, summary: "how many" },
    reason: { type: "string", value: "R", summary: "reason (recorded in the journal)" },
    expires: {
      type: "string",
      value: "ISO8601",
      summary: "when the remaining credits expire, a time in the future (default: never)",
    },
    "idempotency-key": {
      type: "string",
      value: "K",
      summary: "a second grant with this key changes nothing; with a different amount or expiry, it is rejected",
    },
  },
  run: async (args, io) => {
    const grant = {
      user: args.required("user"),
      amount: readAmount(args.required("amount"), "--amount", 1),
      reason: readText(args.text("reason"), "--reason"),
      expiresAtMs: readTime(args.text("expires"), "--expires"),
      idempotencyKey: readText(args.text("idempotency-key"), "--idempotency-key"),
    };
    const { credits, isGranted } = await runAsOperator(io, (operator) => operator.accounts.grantCredits(grant));
    if (!isGranted) io.note("Nothing was granted: this idempotency key was already used for the same grant.");
    io.result({ credits }, `${grant.user} can spend ${countOf(credits, "credit")}.`);
  },
};
