import { orderedInputs, parsePromptName, type PromptConfig, type TextInputField } from "@promptd/contract";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type Command } from "../command.ts";
import { describeWriteFailure } from "../files/file-failure.ts";
import { printableLine } from "../printable.ts";
import { findVersion } from "../runs/find-version.ts";
import { withSession } from "../session.ts";

export const types: Command = {
  summary: "Write TypeScript types for the inputs and options of prompts",
  usage: "<slug[@label]…>",
  details: `The file tells @promptd/client what each prompt accepts, so that a misspelled input of client.run("slug", …) is a compiler error. Run the command again when a prompt has changed.`,
  session: `$ promptd types cat-poem summarize --out src/prompts.d.ts
Wrote src/prompts.d.ts.`,
  options: { out: { type: "string", value: "FILE", summary: "the file to write (default: standard output)" } },
  async run(args, io) {
    const prompts = await withSession(io, async ({ client }) => {
      const found: [string, PromptConfig][] = [];
      for (const name of args.positionals) {
        found.push([parsePromptName(name).slug, (await findVersion(client, name, io.signal)).config]);
      }
      return found;
    });
    const text = describeTypes(prompts);
    const out = args.text("out");
    if (out === undefined) return io.result({ types: text }, text.trimEnd());
    try {
      await writeFile(resolve(io.directory, out), text);
    } catch (error) {
      throw new CommandFailure(describeWriteFailure(out, error), { cause: error });
    }
    io.result({ types: text, file: out }, `Wrote ${printableLine(out)}.`);
  },
};

/** The members added to the client's declaration of known prompts. */
export function describeTypes(prompts: readonly (readonly [string, PromptConfig])[]): string {
  const members = prompts
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([slug, config]) => {
      const inputs = orderedInputs(config);
      const options = Object.entries(config.runOptions).map(([key, { options: values }]) =>
        member(key, false, union(values)),
      );
      return `    ${JSON.stringify(slug)}: {
      inputs: {
${inputs.map(([key, field]) => describeInput(key, field)).join("\n")}
      };
      options: {${options.length === 0 ? "" : `\n${options.join("\n")}\n      `}};
    };`;
    });
  return `// Written by: promptd types ${prompts.map(([slug]) => slug).join(" ")}
import "@promptd/client";

declare module "@promptd/client" {
  interface KnownPrompts {
${members.join("\n")}
  }
}
`;
}

function describeInput(key: string, field: TextInputField): string {
  const about = [field.label === key ? "" : field.label, field.description].filter((text) => text !== "").join(": ");
  // The author's text must not end the comment.
  const comment = about === "" ? "" : `        /** ${printableLine(about).replaceAll("*/", "*\u200b/")} */\n`;
  return comment + member(key, field.required, typeOf(field));
}

function member(key: string, isRequired: boolean, type: string): string {
  return `        ${JSON.stringify(key)}${isRequired ? "" : "?"}: ${type}${isRequired ? "" : " | undefined"};`;
}

function typeOf({ type, options, multiple }: TextInputField): string {
  if (options !== null) return multiple === null ? union(options) : `readonly (${union(options)})[]`;
  if (type === "number") return "number | string";
  if (type === "boolean") return 'boolean | "true" | "false"';
  if (type === "list") return "readonly (string | number)[] | string";
  return "string";
}

function union(values: readonly string[]): string {
  return values.length === 0 ? "string" : values.map((value) => JSON.stringify(value)).join(" | ");
}
