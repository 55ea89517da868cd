import { CommandFailure, type Command } from "../../command.ts";
import { runAsOperator } from "./run-operator.ts";

export const promptList: Command = {
  summary: "List the newest published prompts, or prompts whose title, slug, or author contains a text",
  usage: "[TEXT]",
  session: `$ promptd admin prompt list
01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33  published    tea-note  ada@example.org`,
  options: {},
  run: async (args, io) => {
    const [text] = args.positionals;
    const { rows, hasMore } = await runAsOperator(io, (operator) => operator.lookup.prompts(text));
    const lines = rows.map(
      ({ promptId, slug, state, accountEmail }) => `${promptId}  ${state.padEnd(11)}  ${slug}  ${accountEmail}`,
    );
    io.result({ rows, hasMore }, lines.length === 0 ? "No prompts." : lines.join("\n"));
    if (hasMore) io.note("There are more. Narrow the list with part of a title, slug, or author's address.");
  },
};

export const promptShow: Command = {
  summary: "Show a prompt: author, state, uses, votes, and the author's share",
  usage: "<SLUG|PROMPTID>",
  session: `$ promptd admin prompt show tea-note
Tea note (tea-note, 01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33)
Author: ada@example.org (01a206a8-a793-77b3-8286-96323e8a6ed0)
State: published
Uses: 12, votes: 1, published 2026-11-23T04:27:38.380Z
Author's share: 70 percent`,
  options: {},
  run: async (args, io) => {
    const [name = ""] = args.positionals;
    const prompt = await runAsOperator(io, (operator) => operator.lookup.prompt(name));
    const { title, slug, promptId, accountEmail, accountId, state, moderation, uses, upVotes } = prompt;
    const share =
      prompt.authorSharePercent === null ? "the installation's default" : `${prompt.authorSharePercent} percent`;
    const lines = [
      `${title} (${slug}, ${promptId})`,
      `Author: ${accountEmail} (${accountId})`,
      `State: ${state}${moderation === null ? "" : `, since ${moderation.at}: ${moderation.reason}`}`,
      `Uses: ${uses}, votes: ${upVotes}, published ${prompt.publishedAt}`,
      `Author's share: ${share}`,
    ];
    io.result(prompt, lines.join("\n"));
  },
};

export const promptShare: Command = {
  summary: "Set a prompt author's share of the credits that others pay for its runs",
  usage: "<promptId>",
  details:
    "Existing runs keep the share that applied when they were created. Authors earn nothing from their own runs.",
  session: `$ promptd admin prompt share 01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33 --percent 70
The author of tea-note earns 70 percent of what new runs cost.`,
  options: {
    percent: {
      type: "string",
      value: "N",
      isRequired: true,
      summary: '0 to 100, or "default" for PROMPTD_AUTHOR_SHARE',
    },
  },
  run: async (args, io) => {
    const percent = readPercent(args.required("percent"));
    const [promptId = ""] = args.positionals;
    const set = await runAsOperator(io, (operator) => operator.prompts.setAuthorShare(promptId, percent));
    const share = percent === null ? "the installation's share" : `${percent} percent`;
    io.result(set, `The author of ${set.slug} earns ${share} of what new runs cost.`);
  },
};

function readPercent(value: string): number | null {
  if (value === "default") return null;
  const percent = /^\d{1,3}$/.test(value) ? Number(value) : Number.NaN;
  if (percent <= 100) return percent;
  throw new CommandFailure(`--percent must be a whole number from 0 to 100, or default, got "${value}".`);
}
