import type { AccountReport } from "@promptd/server/operator";
import type { Command, CommandIo } from "../../command.ts";
import { readText, runAsOperator } from "./run-operator.ts";

const USAGE = "<EMAIL|USERID>";

export const accountShow: Command = {
  summary: "Show an account: plan, credits, active runs, and why it is frozen, if it is",
  usage: USAGE,
  session: `$ promptd admin account show ada@example.org
ada@example.org (01a206a8-a793-77b3-8286-96323e8a6ed0)
Plan: pro until 2027-12-31T00:00:00.000Z
Credits: 550 posted, 0 held, 550 available
Active runs: 0
Frozen: no`,
  options: {},
  run: async (args, io) => {
    const [user = ""] = args.positionals;
    showAccount(io, await runAsOperator(io, (operator) => operator.accounts.show(user)));
  },
};

export const accountFreeze: Command = {
  summary: "Freeze an account, so that it cannot start new runs that cost credits",
  usage: USAGE,
  details:
    "Runs that have started continue and are charged as usual. API requests for new runs get 402 ACCOUNT_FROZEN.",
  session: `$ promptd admin account freeze ada@example.org --reason "Under review"
ada@example.org (01a206a8-a793-77b3-8286-96323e8a6ed0)
Plan: pro until 2027-12-31T00:00:00.000Z
Credits: 550 posted, 0 held, 550 available
Active runs: 0
Frozen: since 2026-11-23T04:27:31.227Z, Under review`,
  options: { reason: { type: "string", value: "R", isRequired: true, summary: "reason (recorded)" } },
  run: async (args, io) => {
    const [user = ""] = args.positionals;
    const reason = readText(args.required("reason"), "--reason");
    const { isChanged, account } = await runAsOperator(io, (operator) => operator.accounts.freeze(user, reason));
    if (!isChanged) io.note("The account was already frozen. It keeps its first reason.");
    showAccount(io, account);
  },
};

export const accountUnfreeze: Command = {
  summary: "Unfreeze an account whose ledger adds up, so that it can start runs again",
  usage: USAGE,
  details:
    "If the audit finds a fault in the ledger, the account stays frozen and the exit code is 1. The journal is never changed, so a 'journal chain' fault stays in it. --accept-journal accepts the journal as it is today.",
  session: `$ promptd admin account unfreeze ada@example.org --reason "Reviewed"
ada@example.org (01a206a8-a793-77b3-8286-96323e8a6ed0)
Plan: pro until 2027-12-31T00:00:00.000Z
Credits: 550 posted, 0 held, 550 available
Active runs: 0
Frozen: no`,
  options: {
    reason: { type: "string", value: "R", isRequired: true, summary: "reason (recorded)" },
    "accept-journal": { type: "boolean", summary: "accept the journal chain faults that exist now" },
  },
  run: async (args, io) => {
    const [user = ""] = args.positionals;
    const reason = readText(args.required("reason"), "--reason");
    const { isChanged, account } = await runAsOperator(io, (operator) =>
      operator.accounts.unfreeze(user, { reason, acceptsJournal: args.flag("accept-journal") }),
    );
    if (!isChanged) io.note("The account was not frozen. Nothing was changed.");
    showAccount(io, account);
  },
};

export function showAccount(io: CommandIo, account: AccountReport): void {
  const { email, userId, plan, until, credits, frozen, activeRuns } = account;
  const planEnd = until === null ? "" : plan === "pro" ? ` until ${until}` : `, ended ${until}`;
  const lines = [
    `${email} (${userId})`,
    `Plan: ${plan}${planEnd}`,
    `Credits: ${credits.posted} posted, ${credits.held} held, ${credits.available} available`,
    `Active runs: ${activeRuns}`,
    frozen === null ? "Frozen: no" : `Frozen: since ${frozen.since}, ${frozen.reason ?? "reason unknown"}`,
  ];
  io.result(account, lines.join("\n"));
}
