import { countOf } from "@promptd/contract";
import type { CallOfRun, ManagedRunRow, Page } from "@promptd/contract/manage";
import { CommandFailure, type Command, type CommandArgs } from "../../command.ts";
import { runAsOperator } from "./run-operator.ts";

const STATUSES = ["queued", "running", "succeeded", "failed"] as const;

export const accountList: Command = {
  summary: "List the newest accounts, or accounts whose address, id, or name contains a text",
  usage: "[TEXT]",
  session: `$ promptd admin account list ada
01a206a8-a793-77b3-8286-96323e8a6ed0  pro   ada@example.org`,
  options: {},
  run: async (args, io) => {
    const [text] = args.positionals;
    const { rows, hasMore } = await runAsOperator(io, (operator) => operator.lookup.accounts(text));
    const lines = rows.map(
      ({ accountId, email, plan, isFrozen }) =>
        `${accountId}  ${plan.padEnd(4)}  ${email}${isFrozen ? ", frozen" : ""}`,
    );
    io.result({ rows, hasMore }, lines.length === 0 ? "No accounts." : lines.join("\n"));
    if (hasMore) io.note("There are more. Narrow the list with part of an address, id, or name.");
  },
};

export const userList: Command = {
  summary: "List the newest people who sign in, or people whose address or name contains a text",
  usage: "[TEXT]",
  details:
    "An account that nobody signs in to, such as one made with `promptd admin user create`, appears in `promptd admin account list` instead.",
  session: `$ promptd admin user list ada
01a206a8-a793-77b3-8286-96323e8a6ed0  ada@example.org  Ada, operator`,
  options: {},
  run: async (args, io) => {
    const [text] = args.positionals;
    const { rows, hasMore } = await runAsOperator(io, (operator) => operator.lookup.people(text));
    const lines = rows.map(
      (person) => `${person.personId}  ${person.email}  ${[person.name, ...marksOf(person)].join(", ")}`,
    );
    const whom = text === undefined ? "Nobody" : `Nobody with "${text}"`;
    const none = `${whom} signs in. "promptd admin account list" lists accounts.`;
    io.result({ rows, hasMore }, lines.length === 0 ? none : lines.join("\n"));
    if (hasMore) io.note("There are more. Narrow the list with part of an address or name.");
  },
};

function marksOf({ isOperator, isFrozen }: { readonly isOperator: boolean; readonly isFrozen: boolean }): string[] {
  return [...(isOperator ? ["operator"] : []), ...(isFrozen ? ["frozen"] : [])];
}

export const userShow: Command = {
  summary: "Show a person: accounts, sign-in methods, sessions, and whether they are an operator or frozen",
  usage: "<EMAIL|USERID>",
  session: `$ promptd admin user show ada@example.org
ada@example.org: an account that nobody signs in to.`,
  options: {},
  run: async (args, io) => {
    const [user = ""] = args.positionals;
    const { person, account } = await runAsOperator(io, (operator) => operator.lookup.user(user));
    if (person === null) {
      io.result({ person, account }, `${account?.email ?? user}: an account that nobody signs in to.`);
      return;
    }
    const lines = [
      `${person.name} <${person.email}> (${person.personId})${["", ...marksOf(person)].join(", ")}`,
      `Address confirmed: ${person.isVerified ? "yes" : "no"}`,
      `Signs in by: ${person.signsInBy.join(", ") || "nothing yet"}${person.hasSecondFactor ? ", with a second factor" : ""}`,
      `Sessions: ${person.sessions}`,
      ...person.accounts.map(({ accountId, email, role }) => `  ${role.padEnd(6)}  ${accountId}  ${email}`),
    ];
    io.result({ person, account }, lines.join("\n"));
  },
};

const DAYS_DEFAULT = "30";
const DAYS = {
  type: "string",
  value: "N",
  summary: `the last N days, including today (UTC; default: ${DAYS_DEFAULT})`,
} as const;

function readDays(args: CommandArgs): number {
  const given = args.text("days") ?? DAYS_DEFAULT;
  const days = /^\d{1,4}$/.test(given) ? Number(given) : 0;
  if (days < 1) throw new CommandFailure(`--days must be a whole number from 1 to 9999, got "${given}".`);
  return days;
}

export const usageList: Command = {
  summary: "List each account's usage and what providers were paid for it",
  usage: "",
  session: `$ promptd admin usage list --days 7
      96 credits  12 runs, 1 failed  providers 42.50 credits  ada@example.org`,
  options: { days: DAYS },
  run: async (args, io) => {
    const days = readDays(args);
    const usage = await runAsOperator(io, (operator) => operator.lookup.usageOfAll(days));
    const lines = usage.rows.map(
      ({ accountEmail, runs, failed, credits, costMicro }) =>
        `${countOf(credits, "credit").padStart(16)}  ${countOf(runs, "run")}, ${failed} failed  providers ${(costMicro / 1e6).toFixed(2)} credits  ${accountEmail ?? ""}`,
    );
    io.result(usage, lines.length === 0 ? `No usage in the last ${countOf(days, "day")}.` : lines.join("\n"));
  },
};

export const usageShow: Command = {
  summary: "Show an account's usage by prompt and model",
  usage: "",
  session: `$ promptd admin usage show --user ada@example.org --days 7
      96 credits  12 runs, 1 failed  tea-note  sandbox/text`,
  options: {
    user: { type: "string", value: "U", isRequired: true, summary: "email address or id of the account" },
    days: DAYS,
  },
  run: async (args, io) => {
    const user = args.required("user");
    const days = readDays(args);
    const usage = await runAsOperator(io, (operator) => operator.lookup.usage(user, days));
    const lines = usage.rows.map(
      ({ promptSlug, model, runs, failed, credits }) =>
        `${countOf(credits, "credit").padStart(16)}  ${countOf(runs, "run")}, ${failed} failed  ${promptSlug ?? "deleted prompt"}  ${model ?? ""}`,
    );
    io.result(usage, lines.length === 0 ? `No usage in the last ${countOf(days, "day")}.` : lines.join("\n"));
  },
};

export const runList: Command = {
  summary: "List the newest runs of an account, or of all accounts in the past day",
  usage: "",
  session: `$ promptd admin run list --user grace@example.org
No runs.`,
  options: {
    user: { type: "string", value: "U", summary: "email address or id of the account (default: all accounts)" },
    status: { type: "string", value: STATUSES.join("|"), summary: "only runs with this status" },
  },
  run: async (args, io) => {
    const user = args.text("user");
    const given = args.text("status");
    const status = STATUSES.find((one) => one === given);
    if (given !== undefined && status === undefined) {
      throw new CommandFailure(`--status must be one of ${STATUSES.join(", ")}, got "${given}".`);
    }
    const { rows, hasMore } = await runAsOperator<Page<ManagedRunRow & { readonly accountEmail?: string }>>(
      io,
      ({ lookup }) => (user === undefined ? lookup.runsOfAll(status) : lookup.runs(user, status)),
    );
    const lines = rows.map(({ runId, createdAt, runStatus, error, title, accountEmail }) =>
      [runId, createdAt, runStatus.padEnd(9), accountEmail, error ?? title].filter(Boolean).join("  "),
    );
    io.result({ rows, hasMore }, lines.length === 0 ? "No runs." : lines.join("\n"));
    if (hasMore) io.note("There are older runs. Narrow the list with --status.");
  },
};

export const runShow: Command = {
  summary: "Show a run of any account: status, timeline, receipt, and why it failed",
  usage: "<RUNID>",
  details: "Each model call has a line with its result and the provider's own name for the response.",
  session: `$ promptd admin run show 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a
01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a  succeeded  Tea note (tea-note, sandbox/text)
account 01a206a8-a793-77b3-8286-96323e8a6ed0, API key 01a206a8-ad26-773b-947f-5a06a0e43c4e
credits: free
tokens: 12 in, 31 out
  2026-11-23T04:28:38.541Z  created  attempt 0
  2026-11-23T04:28:38.559Z  started  attempt 1
  2026-11-23T04:28:38.564Z  call  attempt 1  text  sandbox/text
  2026-11-23T04:28:38.598Z  finished  attempt 1  succeeded`,
  options: {},
  run: async (args, io) => {
    const [runId = ""] = args.positionals;
    const run = await runAsOperator(io, (operator) => operator.lookup.run(runId));
    const { receipt } = run;
    const credits =
      receipt.held === null
        ? "free"
        : `held ${receipt.held}, charged ${receipt.charged}, released ${receipt.givenBack}`;
    const calls = run.calls.values();
    const timeline = run.timeline.map(({ at, event, attempt, outcome }) => {
      const call = event === "call" ? calls.next().value : undefined;
      return `  ${at}  ${event}  attempt ${attempt}  ${call === undefined ? (outcome ?? "") : describeCall(call)}`;
    });
    const lines = [
      `${run.runId}  ${run.runStatus}  ${run.title} (${run.slug}, ${run.model})`,
      `account ${run.userId}, API key ${run.keyId ?? "none"}, request ${run.requestId ?? "unknown"}`,
      `credits: ${credits}`,
      ...(receipt.inputTokens === null ? [] : [`tokens: ${receipt.inputTokens} in, ${receipt.outputTokens ?? 0} out`]),
      ...(run.error === null ? [] : [`error: ${run.error}`]),
      ...(run.cause === null ? [] : [`cause: ${[run.cause, run.causeDetail].filter(Boolean).join(": ")}`]),
      ...timeline,
    ];
    io.result(run, lines.map((line) => line.trimEnd()).join("\n"));
  },
};

function describeCall({ outcome, model, httpStatus, providerCode, providerRequestId }: CallOfRun): string {
  return [
    outcome ?? "open",
    model,
    ...(httpStatus === null ? [] : [`HTTP ${httpStatus}`]),
    ...(providerCode === null ? [] : [`code ${providerCode}`]),
    ...(providerRequestId === null ? [] : [`request ${providerRequestId}`]),
  ].join("  ");
}
