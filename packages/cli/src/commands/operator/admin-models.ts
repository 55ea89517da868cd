import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type Command } from "../../command.ts";
import { runAsOperator } from "./run-operator.ts";

export const modelsList: Command = {
  summary: "List every model of the catalogue, enabled or not, with its price and what enables it",
  usage: "",
  options: {},
  run: async (_args, io) => {
    const models = await runAsOperator(io, (operator) => operator.listModels());
    const lines = models.map((one) => {
      const state = one.enabled ? "enabled" : one.requires === null ? one.status : `needs ${one.requires}`;
      return `${String(one.index).padStart(5)}  ${one.model.padEnd(36)} ${one.modality.padEnd(6)} ${state.padEnd(34)} ${one.price}`;
    });
    io.result(models, lines.join("\n"));
  },
};

export const modelsCheck: Command = {
  summary: "Check an overlay of the model catalogue, and say which published prompts it would stop",
  usage: "FILE",
  details:
    "Reads FILE as a start with PROMPTD_MODELS_FILE=FILE would, and changes nothing. The exit code is 1 when it has faults.",
  options: {},
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const file = resolve(io.directory, args.positionals[0] ?? "");
    await readFile(file).catch((cause: unknown) => {
      throw new CommandFailure(`${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      });
    });
    const report = await runAsOperator(io, (operator) => operator.checkModels(file));
    const lists = (["added", "changed", "deprecated", "retired"] as const)
      .filter((name) => report[name].length > 0)
      .map((name) => `${name}: ${report[name].join(", ")}`);
    const stopped = report.stoppedPrompts.map((one) => `  ${one.slug} (${one.promptId}) uses ${one.models.join(", ")}`);
    const faults = report.faults.map((fault) => `  ${fault}`);
    const text = [
      faults.length === 0 ? "The overlay has no faults." : `${faults.length} faults:`,
      ...faults,
      ...lists,
      ...(stopped.length === 0 ? [] : [`${stopped.length} published prompts could no longer be run:`, ...stopped]),
    ];
    io.result(report, text.join("\n"));
    return faults.length === 0 ? 0 : 1;
  },
};
