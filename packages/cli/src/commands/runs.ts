import { RUN_STATUSES } from "@promptd/contract";
import type { ListRunsQuery, Page, Run, RunListRow, RunStatus } from "@promptd/contract";
import { CommandFailure, type Command, type CommandArgs } from "../command.ts";
import { formatCredits, formatRunRows } from "../output.ts";
import { readId, readTime, readWholeNumber } from "../flag-values.ts";
import { hasEnded, reportRun } from "../runs/report-run.ts";
import { createRunView } from "../runs/run-view.ts";
import { withSession } from "../session.ts";
import { stoppedWaiting } from "./run.ts";

export const runsList: Command = {
  summary: "List your runs, newest first",
  usage: "",
  details: "A BATCH column appears when a listed run belongs to a batch.",
  session: `$ promptd runs list --status failed --limit 1
RUN                                   STATUS  CREDITS  CREATED              BATCH   NAME
01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a  failed  0        2026-11-20 10:15:30  topics  Cat portrait

More: promptd runs list --after 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a`,
  options: {
    limit: { type: "string", short: "n", value: "N", summary: "rows per page, 1 to 50 (default: 10)" },
    status: { type: "string", value: "STATUS", summary: `only runs with this status: ${RUN_STATUSES.join(", ")}` },
    since: { type: "string", value: "TIME", summary: "created at or after this time: ISO 8601 or Unix time" },
    until: { type: "string", value: "TIME", summary: "created before this time: ISO 8601 or Unix time" },
    after: { type: "string", value: "RUN", summary: "the next page: runs older than this one" },
    before: { type: "string", value: "RUN", summary: "the previous page: runs newer than this one" },
    all: { type: "boolean", summary: "list every page" },
  },
  async run(args, io) {
    const query = readQuery(args);
    const isAll = args.flag("all");
    if (isAll && query.endingBefore !== undefined) throw new CommandFailure("--all and --before cannot be combined.");
    const page = await withSession(io, async ({ client }): Promise<Page<RunListRow>> => {
      if (!isAll) return client.runs.list(query, { signal: io.signal });
      const rows: RunListRow[] = [];
      for await (const row of client.runs.listAll(query, { signal: io.signal })) rows.push(row);
      return { rows, hasMore: false };
    });
    const last = page.rows.at(-1);
    const more = page.hasMore && last !== undefined ? `\n\nMore: promptd runs list --after ${last.runId}` : "";
    io.result(page, formatRunRows(page.rows) + more);
  },
};

export const runsGet: Command = {
  summary: "Show a run and its outputs",
  usage: "<runId>",
  details: "The exit code is 1 when the run failed.",
  session: `$ promptd runs get 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a --wait 60
A kettle hums, the window steams …`,
  options: {
    wait: { type: "string", short: "w", value: "SECONDS", summary: "wait for the run to finish, up to this long" },
    out: { type: "string", value: "DIR", summary: "save generated images and videos in this folder" },
  },
  async run(args, io) {
    const [runId = ""] = args.positionals;
    const waitSeconds = readWholeNumber(args.text("wait"), "--wait");
    const run = await withSession(io, ({ client }) => client.runs.get(runId, { waitSeconds, signal: io.signal }));
    return reportRun(run, { folder: args.text("out") }, io);
  },
};

export const runsWatch: Command = {
  summary: "Watch a run until it finishes, and show its text as it is written",
  usage: "<runId>",
  details: "The exit code is 1 when the run failed, and 130 after Ctrl-C, which stops watching but not the run.",
  session: `$ promptd runs watch 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a
A kettle hums, the window steams …`,
  options: { out: { type: "string", value: "DIR", summary: "save generated images and videos in this folder" } },
  async run(args, io) {
    const [runId = ""] = args.positionals;
    const view = createRunView(io);
    try {
      const run = await withSession(io, ({ client }) =>
        client.runs.watch(runId, { signal: io.signal, onProgress: (event) => view.see(event) }),
      );
      return await reportRun(run, { folder: args.text("out"), unseen: view.finish(run) }, io);
    } catch (error) {
      throw io.signal.aborted ? stoppedWaiting(runId, error) : error;
    } finally {
      view.stop();
    }
  },
};

export const runsCancel: Command = {
  summary: "Cancel an unfinished run; a canceled run costs nothing",
  usage: "<runId>",
  details: "A run that has already ended stays as it is, and the exit code is 0.",
  session: `$ promptd runs cancel 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a
Canceled 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a. It costs nothing.`,
  options: {},
  async run(args, io) {
    const [runId = ""] = args.positionals;
    await withSession(io, async ({ client }) => {
      const before = await client.runs.get(runId, { signal: io.signal });
      const run = hasEnded(before) ? before : await client.runs.cancel(runId, { signal: io.signal });
      // A run can also succeed between the two requests.
      const isCanceled = !hasEnded(before) && run.runStatus === "failed";
      io.result(run, isCanceled ? `Canceled ${run.runId}. It costs nothing.` : describeEnd(run));
    });
  },
};

function describeEnd({ runId, runStatus, tokens }: Run): string {
  return `Nothing to cancel: ${runId} has already ended (${runStatus}, ${formatCredits(tokens)}).`;
}

function readQuery(args: CommandArgs): ListRunsQuery {
  return {
    limit: readWholeNumber(args.text("limit"), "--limit"),
    status: readStatus(args.text("status")),
    since: readMoment("--since", args.text("since")),
    until: readMoment("--until", args.text("until")),
    startingAfter: readId(args.text("after"), "--after", "run"),
    endingBefore: readId(args.text("before"), "--before", "run"),
    include: "batch",
  };
}

function readStatus(text: string | undefined): RunStatus | undefined {
  const status = RUN_STATUSES.find((known) => known === text);
  if (text === undefined || status !== undefined) return status;
  throw new CommandFailure(`--status must be one of ${RUN_STATUSES.join(", ")}, got "${text}".`);
}

/** Unix time in seconds or milliseconds is sent as is. The server distinguishes them. */
function readMoment(flag: string, text: string | undefined): number | undefined {
  if (text !== undefined && /^[0-9]{1,16}$/.test(text)) return Number(text);
  return readTime(text, flag) ?? undefined;
}
