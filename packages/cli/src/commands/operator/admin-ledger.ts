import { countOf } from "@promptd/contract";
import type { Command } from "../../command.ts";
import { showAccount } from "./admin-account.ts";
import { readSignedAmount, readText, runAsOperator } from "./run-operator.ts";

export const ledgerCheck: Command = {
  summary:
    "Verify every balance against the journal and list frozen accounts; exit code 1 when a balance does not add up",
  usage: "",
  session: `$ promptd admin ledger check
2 accounts, every balance adds up.`,
  options: {},
  run: async (_args, io) => {
    const report = await runAsOperator(io, (operator) => operator.accounts.checkLedger());
    const lines = report.mismatches.map((one) => `  ${one.accountId} ${one.fault}: ${one.detail}`);
    const verdict =
      lines.length === 0 ? "every balance adds up." : `${countOf(lines.length, "mismatch", "mismatches")}:`;
    const frozen = report.frozen.map(
      (one) => `  ${one.email ?? "deleted"} (${one.accountId}) since ${one.since}, ${one.reason ?? "reason unknown"}`,
    );
    const frozenLines = frozen.length === 0 ? [] : [`${frozen.length} frozen:`, ...frozen];
    io.result(report, [`${countOf(report.accounts, "account")}, ${verdict}`, ...lines, ...frozenLines].join("\n"));
    return lines.length === 0 ? 0 : 1;
  },
};

export const ledgerAdjust: Command = {
  summary: "Correct an account's credits, with a row in the journal",
  usage: "",
  details:
    "The adjustment starts from the journal, so it also repairs a balance that was changed by hand: an amount of 0 resets the balance to the journal. You can take away only credits that are neither held nor expired.",
  session: `$ promptd admin ledger adjust --user ada@example.org --amount -5 --reason "Double grant"
ada@example.org (01a206a8-a793-77b3-8286-96323e8a6ed0)
Plan: pro until 2027-12-31T00:00:00.000Z
Credits: 545 posted, 0 held, 545 available
Active runs: 0
Frozen: no`,
  options: {
    user: { type: "string", value: "EMAIL|USERID", isRequired: true, summary: "the account to adjust" },
    amount: {
      type: "string",
      value: "N",
      isRequired: true,
      summary: "how many credits to add or, with a minus sign, to take away",
    },
    reason: { type: "string", value: "R", isRequired: true, summary: "reason (recorded in the journal)" },
  },
  run: async (args, io) => {
    const user = args.required("user");
    const amount = readSignedAmount(args.required("amount"), "--amount");
    const reason = readText(args.required("reason"), "--reason");
    showAccount(io, await runAsOperator(io, (operator) => operator.accounts.adjustCredits(user, amount, reason)));
  },
};
