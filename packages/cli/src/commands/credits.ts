import { PromptdError } from "@promptd/client";
import { USAGE_DIMENSIONS, type UsageRow } from "@promptd/contract/manage";
import { CommandFailure, type Command, type CommandIo } from "../command.ts";
import { readWholeNumber } from "../flag-values.ts";
import { formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withManagement, withSession } from "../session.ts";
import { readConnection } from "../user-config.ts";

export const credits: Command = {
  summary: "Show the credits you can spend, or their journal",
  usage: "",
  details:
    "With a management token, this also shows the credits held by runs in progress. --journal requires a token. Runs are paid for by the API key's account. If its credits differ from those of the token's account, both are shown.",
  session: `$ promptd credits
available  480
held       12`,
  options: {
    journal: { type: "boolean", summary: "list the newest journal entries" },
    limit: { type: "string", short: "n", value: "N", summary: "journal rows, 1 to 50 (default: 10)" },
  },
  async run(args, io) {
    const { signal } = io;
    if (args.flag("journal")) {
      const query = { limit: readWholeNumber(args.text("limit"), "--limit") };
      const page = await withManagement(io, (manage) => manage.send("listJournal", { query, signal }));
      const rows = page.rows.map((row) => [
        row.at.slice(0, 19).replace("T", " "),
        row.kind,
        String(row.amount),
        String(row.creditsAfter),
        printableLine(row.reason ?? row.runId ?? ""),
      ]);
      io.result(page, formatTable([["TIME", "KIND", "CREDITS", "AFTER", "WHAT"], ...rows]));
      return;
    }
    const { apiKey, token } = await readConnection(io.env);
    if (token === null) {
      const mine = await withSession(io, ({ client }) => client.me.credits({ signal }));
      io.result(mine, formatTable([["available", String(mine.credits)]]));
      return;
    }
    const ofKey = apiKey === null ? null : await readCreditsOfKey(io);
    const { available, held, frozen, ...rest } = await withManagement(io, (manage) =>
      manage.send("getCredits", { signal }),
    );
    const rows = [
      ["available", String(available)],
      ["held", String(held)],
      ...(frozen === null ? [] : [["frozen", `since ${frozen.since}: ${printableLine(frozen.reason ?? "no reason")}`]]),
      // The API does not say which account a key belongs to. Comparing available credits serves the same purpose.
      ...(ofKey === null || ofKey === available ? [] : [["API key", `${ofKey} available; its account pays for runs`]]),
    ];
    io.result({ available, held, frozen, ...rest, availableToKey: ofKey }, formatTable(rows));
  },
};

/** Null: the server rejects the key. The token's credits can still be shown. */
async function readCreditsOfKey(io: CommandIo): Promise<number | null> {
  try {
    return (await withSession(io, ({ client }) => client.me.credits({ signal: io.signal }))).credits;
  } catch (error) {
    if (error instanceof PromptdError) return null;
    throw error;
  }
}

export const usage: Command = {
  summary: "Show what your runs used, by day, key, prompt, or model",
  usage: "",
  session: `$ promptd usage --by prompt --from 2026-11-01
PROMPT    RUNS  FAILED  CREDITS  INPUT TOKENS  OUTPUT TOKENS
cat-poem  12    1       96       1840          4120`,
  options: {
    by: {
      type: "string",
      value: "NAMES",
      summary: "day, key, prompt, model, or several joined by commas (default: day)",
    },
    from: { type: "string", value: "DAY", summary: "first day, UTC, YYYY-MM-DD (default: 30 days ago)" },
    to: { type: "string", value: "DAY", summary: "last day, UTC (default: today)" },
    csv: { type: "boolean", summary: "print CSV" },
  },
  async run(args, io) {
    const by = args.text("by") ?? "day";
    const query = { by, from: args.text("from"), to: args.text("to") };
    const { signal } = io;
    if (args.flag("csv")) {
      const given = Object.entries({ ...query, format: "csv" }).filter(([, value]) => value !== undefined);
      const path = `/manage/v1/usage?${new URLSearchParams(given as [string, string][]).toString()}`;
      const answer = await withManagement(io, (manage) => manage.request({ method: "GET", path, signal }));
      if (answer.httpStatus === 200) return io.result({ csv: answer.text }, answer.text.trimEnd());
      await withManagement(io, (manage) => manage.send("getUsage", { query, signal })); // says what is wrong
      throw new CommandFailure(`The server did not return CSV: HTTP ${answer.httpStatus}. Try again.`);
    }
    const report = await withManagement(io, (manage) => manage.send("getUsage", { query, signal }));
    const names = by.split(",").map((name) => name.trim());
    const header = [
      ...names.map((name) => name.toUpperCase()),
      "RUNS",
      "FAILED",
      "CREDITS",
      "INPUT TOKENS",
      "OUTPUT TOKENS",
    ];
    const rows = report.rows.map((row) => formatUsage(row, names));
    const cut = report.isCut ? "\n\nThere are more rows. Request fewer days, or fewer dimensions in --by." : "";
    io.result(
      report,
      rows.length === 0 ? `No runs from ${report.from} to ${report.to}.` : formatTable([header, ...rows]) + cut,
    );
  },
};

function formatUsage(row: UsageRow, names: readonly string[]): string[] {
  const shown: Readonly<Record<(typeof USAGE_DIMENSIONS)[number], string | null>> = {
    day: row.day,
    key: row.keyName ?? row.keyId,
    prompt: row.promptSlug ?? row.promptId,
    model: row.model,
    account: row.accountEmail ?? row.accountId,
  };
  const dimensions = names.map((name) => printableLine(shown[name as keyof typeof shown] ?? "-"));
  return [...dimensions, ...[row.runs, row.failed, row.credits, row.inputTokens, row.outputTokens].map(String)];
}
