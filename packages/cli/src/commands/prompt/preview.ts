import type { PromptPreview } from "@promptd/contract/manage";
import { CommandFailure, type Command } from "../../command.ts";
import { formatCredits } from "../../output.ts";
import { printable, printableLine } from "../../printable.ts";
import { readPairs } from "../../runs/run-inputs.ts";
import { requirePromptFile, runAsAuthor } from "./author-files.ts";
import { runOnServerOrLocally } from "./own-prompts.ts";

export const promptPreview: Command = {
  summary: "Show the exact messages that a run of a prompt file would send to the model",
  usage: "FILE",
  details: `Nothing is published and no model is called. The output of an earlier step appears as [output of step "id"] unless you set it with --step. With a management token, the server renders the messages, because it knows its own models. Without one, or with --here, this program's catalogue is used.`,
  session: `$ promptd prompt preview tea.prompt.md -i topic=rain
openai/gpt-5.4-mini  maxOutputTokens=2000
--- user ---
Write about rain, calm.

A run with these inputs costs: at most 8 credits`,
  options: {
    input: { type: "string", short: "i", multiple: true, value: "KEY=VALUE", summary: "a text input" },
    option: { type: "string", short: "o", multiple: true, value: "KEY=VALUE", summary: "a run option of the model" },
    step: { type: "string", multiple: true, value: "ID=TEXT", summary: "what an earlier step returned" },
    here: { type: "boolean", summary: "do not ask a server" },
    prompt: { type: "string", value: "TITLE|SLUG", summary: "which prompt to show, if the file contains several" },
  },
  run: async (args, io) => {
    const file = await requirePromptFile(args.positionals[0] ?? "", io);
    const request = {
      textInputs: readPairs("--input", args.list("input")),
      runOptions: readPairs("--option", args.list("option")),
      stepOutputs: readPairs("--step", args.list("step")),
    };
    const title = args.text("prompt");
    const preview = await runOnServerOrLocally<PromptPreview>(args, io, {
      onServer: (manage) =>
        manage.send("previewPromptFile", { body: { source: file.text, title, ...request }, signal: io.signal }),
      locally: () => runAsAuthor(io, (authoring) => authoring.preview(file, request, title ?? null)),
    });
    if (preview.ignored.length > 0) io.note(`These have no effect: ${preview.ignored.map(printableLine).join(", ")}`);
    if (preview.issues.length > 0) {
      const messages = new Set(preview.issues.map((issue) => issue.message));
      throw new CommandFailure([...messages].join("\n"), { hint: "Set an input with -i KEY=VALUE." });
    }
    io.result(preview, formatPreview(preview));
  },
};

function formatPreview({ steps, price }: PromptPreview): string {
  const parts = steps.map((step) => formatStep(step, steps.length > 1));
  const cost = price === null || price.most === 0 ? "free" : `at most ${formatCredits(price.most)}`;
  return [...parts, `A run with these inputs costs: ${cost}`].join("\n\n");
}

function formatStep(step: PromptPreview["steps"][number], isOneOfSeveral: boolean): string {
  const options = Object.entries(step.options).map(([key, value]) => `${key}=${value}`);
  const limits = step.maxOutputTokens === null ? [] : [`maxOutputTokens=${step.maxOutputTokens}`];
  const count = step.count === 1 ? [] : [`count=${step.count}`];
  const name = isOneOfSeveral ? `Step ${step.id}: ` : "";
  const settings = Object.entries(step.settings).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  const schema = step.outputSchema === null ? [] : ["answers JSON that matches its schema"];
  const head = [`${name}${step.model}`, ...options, ...settings, ...limits, ...count, ...schema].join("  ");
  const messages = step.messages.map(({ role, text, images }) => {
    const attached = images.map((label) => `[image: ${printableLine(label)}]\n`).join("");
    return `--- ${role} ---\n${attached}${printable(text)}`;
  });
  return [head, ...messages].join("\n");
}
