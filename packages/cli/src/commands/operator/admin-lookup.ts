import { CommandFailure, type Command } from "../../command.ts";
import { requireText, runAsOperator } from "./run-operator.ts";

const STATUSES = ["queued", "running", "succeeded", "failed"] as const;

export const userList: Command = {
  summary: "List the newest accounts, or those whose address, id or name has a text in it",
  usage: "[TEXT]",
  options: {},
  positionals: { min: 0, max: 1 },
  run: async (args, io) => {
    const [text] = args.positionals;
    const { rows, hasMore } = await runAsOperator(io, (operator) => operator.lookup.accounts(text));
    const lines = rows.map(({ accountId, email, plan }) => `${accountId}  ${plan.padEnd(4)}  ${email}`);
    io.result({ rows, hasMore }, lines.length === 0 ? "No account." : lines.join("\n"));
    if (hasMore) io.note("There are more; give part of the address, the id or the name.");
  },
};

export const runList: Command = {
  summary: "List the newest runs of an account",
  usage: "",
  options: {
    user: { type: "string", value: "U", summary: "E-mail address or id of the account (required)" },
    status: { type: "string", value: STATUSES.join("|"), summary: "Only runs of this status" },
  },
  run: async (args, io) => {
    const user = requireText(args.text("user"), "--user", "ada@example.org");
    const given = args.text("status");
    const status = STATUSES.find((one) => one === given);
    if (given !== undefined && status === undefined) {
      throw new CommandFailure(`--status must be one of ${STATUSES.join(", ")}, got "${given}".`);
    }
    const { rows, hasMore } = await runAsOperator(io, (operator) => operator.lookup.runs(user, status));
    const lines = rows.map(
      (row) => `${row.runId}  ${row.createdAt}  ${row.runStatus.padEnd(9)}  ${row.error ?? row.title}`,
    );
    io.result({ rows, hasMore }, lines.length === 0 ? "No run." : lines.join("\n"));
    if (hasMore) io.note("There are older ones; --status narrows the list.");
  },
};

export const runShow: Command = {
  summary: "Show a run of any account: status, timeline, receipt and error",
  usage: "<RUNID>",
  options: {},
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const [runId = ""] = args.positionals;
    const run = await runAsOperator(io, (operator) => operator.lookup.run(runId));
    const { receipt } = run;
    const credits =
      receipt.held === null
        ? "free"
        : `held ${receipt.held}, charged ${receipt.charged}, given back ${receipt.givenBack}`;
    const timeline = run.timeline.map(
      ({ at, event, attempt, outcome }) => `  ${at}  ${event}  attempt ${attempt}  ${outcome ?? ""}`,
    );
    const lines = [
      `${run.runId}  ${run.runStatus}  ${run.title} (${run.slug}, ${run.model})`,
      `account ${run.userId}, API key ${run.keyId ?? "none"}, request ${run.requestId ?? "unknown"}`,
      `credits: ${credits}`,
      ...(run.error === null ? [] : [`error: ${run.error}`]),
      ...timeline,
    ];
    io.result(run, lines.map((line) => line.trimEnd()).join("\n"));
  },
};
