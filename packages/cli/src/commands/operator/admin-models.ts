import { countOf, suggestName } from "@promptd/contract";
import type { ModelLine } from "@promptd/server/operator";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type Command } from "../../command.ts";
import { describeReadFailure } from "../../files/file-failure.ts";
import { formatTable } from "../../output.ts";
import { runAsOperator } from "./run-operator.ts";

export const modelsList: Command = {
  summary: "List every model in the catalogue, enabled or not, with its price, concurrency, and what enables it",
  usage: "",
  session: `$ promptd admin models list
   11  openai/gpt-image-1  image  retired            inputPer1k 1, perImage 1.632-24.96, 32 at once
         since 2026-10-23, use openai/gpt-image-2.6-flare
   40  fal/luma-ray-2      video  needs FAL_API_KEY  perImage 50-100, 8 at once`,
  options: {},
  run: async (_args, io) => {
    const models = await runAsOperator(io, (operator) => operator.models.list());
    const rows = models.map((one) => [
      String(one.index).padStart(5),
      one.model,
      one.modality,
      stateOf(one),
      `${one.price || "free"}, ${describeRunsAtOnce(one.runsAtOnce)} at once`,
    ]);
    const lines = formatTable(rows).split("\n");
    // The model's end and the price's origin are sentences. As columns, they would push the others out of the window.
    const notes = models.map((one) => [endOf(one), originOf(one)].filter((words) => words !== null && words !== ""));
    const text = lines.flatMap((line, at) => [line, ...(notes[at] ?? []).map((note) => `         ${note}`)]);
    io.result(models, text.join("\n"));
  },
};

export const modelsShow: Command = {
  summary: "Show one model in the catalogue, with its price, retirement date, and what enables it",
  usage: "<MODEL>",
  session: `$ promptd admin models show sandbox/text
sandbox/text (text, provider sandbox)
State: enabled
Price: inputPer1k 0.1, outputPer1k 0.5
Runs at once: 1000`,
  options: {},
  run: async (args, io) => {
    const [name = ""] = args.positionals;
    const models = await runAsOperator(io, (operator) => operator.models.list());
    const found = models.find(({ model }) => model === name.toLowerCase());
    if (found === undefined) {
      const near = suggestName(
        name.toLowerCase(),
        models.map(({ model }) => model),
      );
      const hint = near === null ? 'List all models with "promptd admin models list".' : `Did you mean ${near}?`;
      throw new CommandFailure(`The catalogue has no model "${name}".`, { hint });
    }
    const lines = [
      `${found.model} (${found.modality}, provider ${found.provider})`,
      `State: ${[stateOf(found), endOf(found)].filter((word) => word !== null).join(", ")}`,
      `Price: ${found.price || "free"}${found.priceSource === null ? "" : `, ${found.priceSource}`}`,
      `Runs at once: ${describeRunsAtOnce(found.runsAtOnce)}`,
      ...(found.successor === null ? [] : [`Successor: ${found.successor}`]),
    ];
    io.result(found, lines.join("\n"));
  },
};

export const modelsCheck: Command = {
  summary: "Check a model catalogue overlay, and list the published prompts that it would keep from running",
  usage: "FILE",
  details:
    "Reads FILE as a server started with PROMPTD_MODELS_FILE=FILE would, and changes nothing. The exit code is 1 when the file has errors.",
  session: `$ promptd admin models check models.json
1 error:
  models.json: formatVersion: must be 1, got 2`,
  options: {},
  run: async (args, io) => {
    const file = resolve(io.directory, args.positionals[0] ?? "");
    await readFile(file).catch((cause: unknown) => {
      throw new CommandFailure(describeReadFailure(file, cause, "name the overlay file in it"), { cause });
    });
    const report = await runAsOperator(io, (operator) => operator.models.check(file));
    const lists = (["added", "changed", "deprecated", "retired"] as const)
      .filter((name) => report[name].length > 0)
      .map((name) => `${name}: ${report[name].join(", ")}`);
    const [latest = [], older = []] = [true, false].map((isLatest) =>
      report.stoppedPrompts.filter((one) => one.isLatest === isLatest),
    );
    const stopped = latest.map((one) => `  ${one.slug} (${one.promptId}) uses ${one.models.join(", ")}`);
    const stoppedVersions = older.map(
      (one) => `  ${one.slug}, version ${one.version} (${one.promptVersionId}) uses ${one.models.join(", ")}`,
    );
    const faults = report.faults.map((fault) => `  ${fault}`);
    const text = [
      faults.length === 0 ? "The overlay has no errors." : `${countOf(faults.length, "error")}:`,
      ...faults,
      ...(report.priceFactor === "1" ? [] : [`every price is multiplied by ${report.priceFactor}`]),
      ...lists,
      ...(report.pricesToConfirm.length === 0
        ? []
        : [`the operator must confirm these prices: ${report.pricesToConfirm.join(", ")}`]),
      ...(stopped.length === 0
        ? []
        : [`${countOf(stopped.length, "published prompt")} could no longer be run:`, ...stopped]),
      ...(older.length === 0
        ? []
        : [
            `${countOf(older.length, "older version")} could no longer be run by callers that request it:`,
            ...stoppedVersions,
          ]),
    ];
    io.result(report, text.join("\n"));
    return faults.length === 0 ? 0 : 1;
  },
};

function stateOf({ enabled, isOff, requires, status }: ModelLine): string {
  if (status === "retired") return status;
  if (isOff) return "switched off";
  if (enabled) return "enabled";
  return requires === null ? status : `needs ${requires}`;
}

/** The origin of the price. */
function originOf({ priceSource, priceDate, priceToConfirm }: ModelLine): string {
  const isDated = priceDate !== null && priceSource?.includes(priceDate) === true;
  const words = [priceSource, isDated ? null : priceDate, priceToConfirm ? "operator must confirm" : null];
  return words.filter((word) => word !== null).join(", ");
}

/** The end of a model that ends or has ended. */
function endOf({ status, retiresAt, successor }: ModelLine): string | null {
  if (status === "active") return null;
  const words = [
    status === "retired" ? null : "deprecated",
    retiresAt === null ? null : `${status === "retired" ? "since" : "ends"} ${retiresAt}`,
    successor === null ? null : `use ${successor}`,
  ];
  return words.filter((word) => word !== null).join(", ");
}

function describeRunsAtOnce({ max, follows }: { readonly max: number; readonly follows: boolean }): string {
  return follows ? `2-${max} (adaptive)` : String(max);
}
