import type { CheckedImport } from "@promptd/server/authoring";
import { makeFolder } from "@promptd/server/make-folder";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { codeOf, describeWriteFailure } from "../../files/file-failure.ts";
import { printableLine } from "../../printable.ts";
import { readPromptFile, runAsAuthor } from "./author-files.ts";

type Made = CheckedImport & { readonly from: string };

export const promptImport: Command = {
  summary: "Convert files of other tools into prompt files",
  usage: "FILE…",
  details: `Formats: openai (the JSON of a request or a response that uses a stored prompt, which OpenAI drops on 30 November 2026), langfuse, dotprompt, prompty, promptfoo, mustache. Comments at the top of each file say what could not be converted and what must be fixed before it can be published. No file is overwritten, and no database is needed.`,
  session: `$ promptd prompt import poem.mustache --from mustache --out prompts
prompts/poem.prompt.md
  The file names no model, so the role text-default is used: the best text model on the server. Name a model to be sure which one runs.
Created 1.`,
  options: {
    from: { type: "string", value: "FORMAT", isRequired: true, summary: "the format of the files" },
    out: { type: "string", value: "DIR", isRequired: true, summary: "where the prompt files go" },
  },
  run: async (args, io) => {
    const from = args.required("from");
    const out = args.required("out");
    const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
    const failures = read.flatMap((file) => ("why" in file ? [file.why] : []));
    const made = await runAsAuthor(io, (authoring, { FOREIGN_FORMATS, explainFailure }) => {
      const format = FOREIGN_FORMATS.find((each) => each === from);
      if (format === undefined)
        throw new CommandFailure(`--from must be one of: ${FOREIGN_FORMATS.join(", ")}, got "${from}".`);
      return read.flatMap((file): Made[] => {
        if ("why" in file) return [];
        try {
          return authoring.import(file, format).map((one) => ({ ...one, from: file.name }));
        } catch (error) {
          const why = explainFailure(error);
          if (why === null) throw error;
          failures.push(why);
          return [];
        }
      });
    });
    for (const failure of failures) io.note(failure);
    const written = await writeFiles(made, out, io);
    io.result(
      written.map(({ from: source, file, notes, faults }) => ({ from: source, file, notes, faults })),
      [...written.map(describeFile), `Created ${written.length}.`].join("\n"),
    );
    return failures.length === 0 && written.length === made.length ? 0 : 1;
  },
};

/** Never overwrites a file: it may contain the author's work since an earlier import. */
async function writeFiles(made: readonly Made[], out: string, io: CommandIo): Promise<(Made & { file: string })[]> {
  const written: (Made & { file: string })[] = [];
  const names = new Set<string>();
  if (made.length > 0) await makeOutFolder(out, io);
  for (const one of made) {
    const file = join(out, freeName(one.name, names));
    const path = resolve(io.directory, file);
    try {
      await writeFile(path, one.text, { flag: "wx" });
      written.push({ ...one, file });
    } catch (error) {
      const isThere = codeOf(error) === "EEXIST";
      io.note(isThere ? `${file} already exists and was not overwritten.` : describeWriteFailure(file, error));
    }
  }
  return written;
}

async function makeOutFolder(out: string, io: CommandIo): Promise<void> {
  try {
    await makeFolder(resolve(io.directory, out));
  } catch (error) {
    throw new CommandFailure(describeWriteFailure(out, error), { cause: error });
  }
}

/** Two prompts with the same name become two files. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = name.replace(/\.prompt\.md$/, `-${number}.prompt.md`);
  taken.add(free);
  return free;
}

function describeFile({ file, notes, faults }: Made & { file: string }): string {
  const lines = [...notes, ...faults.split("\n").filter((line) => line !== "")].map(
    (line) => `  ${printableLine(line)}`,
  );
  const head = faults === "" ? printableLine(file) : `${printableLine(file)} must be edited before it can be published`;
  return [head, ...lines].join("\n");
}
