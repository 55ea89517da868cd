import type { Command } from "../../command.ts";
import { readAmount, readTime, requireText, runAsOperator } from "./run-operator.ts";

export const creditsGrant: Command = {
  summary: "Grant credits to an account",
  usage: "",
  options: {
    user: { type: "string", value: "EMAIL|USERID", summary: "Who gets them" },
    amount: { type: "string", value: "N", summary: "How many" },
    reason: { type: "string", value: "R", summary: "Kept in the journal" },
    expires: { type: "string", value: "ISO8601", summary: "When what is left of them expires (never)" },
    "idempotency-key": { type: "string", value: "K", summary: "A second grant under the same key changes nothing" },
  },
  run: async (args, io) => {
    const grant = {
      user: requireText(args.text("user"), "--user", "ada@example.org"),
      amount: readAmount(requireText(args.text("amount"), "--amount", "100"), "--amount", 1),
      reason: args.text("reason"),
      expiresAtMs: readTime(args.text("expires"), "--expires"),
      idempotencyKey: args.text("idempotency-key"),
    };
    const balance = await runAsOperator(io, (operator) => operator.grantCredits(grant));
    io.result(balance, `${grant.user} can spend ${balance.credits} credits.`);
  },
};
