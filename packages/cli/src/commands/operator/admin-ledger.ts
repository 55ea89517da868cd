import type { Command } from "../../command.ts";
import { runAsOperator } from "./run-operator.ts";

export const ledgerCheck: Command = {
  summary: "Prove every balance from the journal; exit code 1 when one does not add up",
  usage: "",
  options: {},
  run: async (_args, io) => {
    const report = await runAsOperator(io, (operator) => operator.checkLedger());
    const lines = report.mismatches.map((one) => `  ${one.accountId} ${one.fault}: ${one.detail}`);
    const verdict = lines.length === 0 ? "every balance adds up." : `${lines.length} mismatches:`;
    io.result(report, [`${report.accounts} accounts, ${verdict}`, ...lines].join("\n"));
    return lines.length === 0 ? 0 : 1;
  },
};
