import { CommandFailure, type Command } from "../../command.ts";
import { requireText, runAsOperator } from "./run-operator.ts";

export const promptShare: Command = {
  summary: "Set what the author of a prompt earns of the credits that others pay for its runs",
  usage: "<promptId>",
  details: "Runs that exist keep the share of their creation. An author's own runs are free, so nobody earns of them.",
  options: {
    percent: {
      type: "string",
      value: "N",
      summary: '0 to 100, or "default": that of PROMPTD_AUTHOR_SHARE (required)',
    },
  },
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const percent = readPercent(requireText(args.text("percent"), "--percent", "70"));
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
