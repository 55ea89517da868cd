import { countOf } from "@promptd/contract";
import { ACCOUNT_GROUPS } from "./checks/account-checks.ts";
import { GENERAL_GROUPS } from "./checks/general-checks.ts";
import { LIST_GROUPS } from "./checks/list-checks.ts";
import { MARKETPLACE_GROUPS } from "./checks/marketplace-checks.ts";
import { RUN_GROUPS } from "./checks/run-checks.ts";
import { Mismatch, NoAnswer, runChecks, type Group, type Outcome } from "./check.ts";
import { createKit, findPrompt, type ConformContext, type CheapPrompt } from "./context.ts";
import { countResults, describeCounts, describeOutcome } from "./report.ts";
import { createRequests, type Requests } from "./requests.ts";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../command.ts";
import { formatCredits } from "../output.ts";
import { printableLine } from "../printable.ts";
import { readPairs } from "../runs/run-inputs.ts";
import { NO_TERMINAL } from "../terminal/terminal.ts";

const GROUPS: readonly Group<ConformContext>[] = [
  ...ACCOUNT_GROUPS,
  ...MARKETPLACE_GROUPS,
  ...RUN_GROUPS,
  ...LIST_GROUPS,
  ...GENERAL_GROUPS,
];
const CREDITS_DEFAULT = 20;
const RATE_DEFAULT = 5;

export const conform: Command = {
  summary: "Check from outside whether a server conforms to the API",
  usage: "<baseUrl> <apiKey>",
  details: `For anyone who builds another server for this API, or puts a gateway in front of one. The checks know only the specification. They create one run (two with --extensions) of the cheapest text prompt that search finds, if possible one whose model is available, or of --prompt, and print its possible cost first. They send at most --rate requests per second; at 5, they take about a minute. The exit code is 1 when a check fails.`,
  session: `$ promptd conform https://promptd.example.org pd_…
This creates 1 run of the prompt "Tea poem", about 2 credits.
Authentication
  ✓ POST /v1/runs without a key returns 401
…
235 checks: 229 passed, 0 failed, 6 skipped.
$ promptd conform http://127.0.0.1:8787 pd_… --only "GET /v1/me" --json`,
  options: {
    prompt: { type: "string", value: "ID", summary: "the prompt to run: a text prompt without images" },
    input: {
      type: "string",
      short: "i",
      multiple: true,
      value: "KEY=VALUE",
      summary: "a text input for the run, if the first option or a sample word is not valid",
    },
    "other-key": { type: "string", value: "KEY", summary: "a key of another account, which must not see the run" },
    only: {
      type: "string",
      multiple: true,
      value: "PATTERN",
      summary: "only checks whose group or name contains this; with several, any of them",
    },
    rate: {
      type: "string",
      value: "N",
      summary: `requests per second that the server admits (default: ${RATE_DEFAULT})`,
    },
    credits: {
      type: "string",
      value: "N",
      summary: `the highest estimated cost allowed (default: ${CREDITS_DEFAULT})`,
    },
    extensions: { type: "boolean", summary: "also check promptd's extensions to the specification" },
  },
  async run(args, io) {
    const requests = openRequests(args, io);
    const prompt = await choosePrompt(requests, args, io);
    const context = createKit({
      requests,
      prompt,
      rate: readNumber(args, "rate", RATE_DEFAULT),
      otherKey: args.text("other-key") ?? null,
      extensions: args.flag("extensions"),
    });
    let group: string | null = null;
    const show = (outcome: Outcome): void => {
      if (outcome.group !== group) io.write(`${outcome.group}\n`);
      group = outcome.group;
      io.write(`${describeOutcome(outcome, io.terminal)}\n`);
    };
    const outcomes = await runChecks(GROUPS, context, { patterns: args.list("only"), onOutcome: show });
    if (outcomes.length === 0) throw new CommandFailure("No checks match --only.");
    const text = io.terminal.isOut ? describeCounts(outcomes) : describeAll(outcomes);
    io.result({ ...countResults(outcomes), checks: outcomes.map(toDocument) }, text);
    return countResults(outcomes).failed === 0 ? 0 : 1;
  },
};

function openRequests(args: CommandArgs, io: CommandIo): Requests {
  const [address = "", apiKey = ""] = args.positionals;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(`The base URL must be an http:// or https:// URL, got "${address}".`);
  }
  const baseUrl = (url.origin + url.pathname).replace(/\/+$/, "").replace(/\/v1$/, "");
  const rate = readNumber(args, "rate", RATE_DEFAULT);
  return createRequests({ baseUrl, apiKey, fetch: io.fetch, signal: io.signal, rate });
}

function readNumber(args: CommandArgs, name: string, fallback: number): number {
  const text = args.text(name);
  if (text === undefined) return fallback;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new CommandFailure(`--${name} must be a whole number of at least 1, got "${text}".`);
}

/** If the server does not respond or the key is not valid, every check would fail the same way. */
function refuseHopeless(mismatch: Mismatch): void {
  if (mismatch instanceof NoAnswer) {
    throw new CommandFailure(`Nothing can be checked: ${mismatch.request} got no response (${mismatch.reason}).`, {
      hint: "Check the address and that the server is running.",
    });
  }
  if (mismatch.exchange?.response.httpStatus !== 401) return;
  throw new CommandFailure("Nothing can be checked: the server rejects this API key (401).", {
    hint: "Use a key that is valid on this server.",
  });
}

/** Prints what the run may cost. @throws CommandFailure when it exceeds the limit. */
async function choosePrompt(requests: Requests, args: CommandArgs, io: CommandIo): Promise<CheapPrompt | null> {
  const named = args.text("prompt") ?? null;
  const inputs = readPairs("--input", args.list("input"));
  const prompt = await findPrompt(requests, { promptId: named, inputs }).catch((error: unknown) => {
    if (!(error instanceof Mismatch)) throw error;
    refuseHopeless(error);
    if (named !== null) throw new CommandFailure(`The prompt ${named} cannot be read. Expected: ${error.message}.`);
    return null;
  });
  if (prompt === null) {
    io.note("Search found no text prompt, so no run is created. Name one with --prompt.");
    return null;
  }
  const runs = args.flag("extensions") ? 2 : 1;
  const credits = prompt.estimatedCredits === null ? null : prompt.estimatedCredits * runs;
  const known = credits === 0 ? "free" : `about ${formatCredits(credits ?? 0)}`;
  const price = credits === null ? "at a price that the server does not state" : known;
  const atMost = args.list("only").length > 0 ? "at most " : "";
  io.note(`This creates ${atMost}${countOf(runs, "run")} of the prompt "${printableLine(prompt.title)}", ${price}.`);
  const most = readNumber(args, "credits", CREDITS_DEFAULT);
  if ((prompt.estimatedCredits ?? 0) * runs <= most) return prompt;
  throw new CommandFailure(`That is more than ${countOf(most, "credit")}.`, {
    hint: "Raise --credits, or name a cheaper --prompt.",
  });
}

function describeAll(outcomes: readonly Outcome[]): string {
  const titles = [...new Set(outcomes.map(({ group }) => group))];
  const groups = titles.map((title) =>
    [title, ...outcomes.filter(({ group }) => group === title).map((one) => describeOutcome(one, NO_TERMINAL))].join(
      "\n",
    ),
  );
  return [...groups, describeCounts(outcomes)].join("\n");
}

function toDocument({ exchange, ...outcome }: Outcome) {
  if (exchange === null) return { ...outcome, request: null, response: null };
  const { httpStatus, headers, text } = exchange.response;
  return {
    ...outcome,
    request: exchange.request,
    response: { httpStatus, headers: Object.fromEntries(headers), text },
  };
}
