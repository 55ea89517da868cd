import { makeFolder } from "@promptd/server/make-folder";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CommandFailure, type Command } from "../../command.ts";
import { codeOf, describeWriteFailure } from "../../files/file-failure.ts";
import { printableLine } from "../../printable.ts";
import { withManagement } from "../../session.ts";
import { listAll } from "./own-prompts.ts";
import { fileOf } from "./prompt-id-line.ts";

interface Written {
  readonly promptId: string;
  readonly file: string;
}

export const promptExport: Command = {
  summary: "Write the files of all your account's prompts to a folder",
  usage: "",
  details: `Each file is the prompt's draft, or its latest version if there is no draft. Existing files are not overwritten unless --force is given.`,
  session: `$ promptd prompt export --out prompts
prompts/tea-poem.prompt.md
Wrote 1.`,
  options: {
    out: { type: "string", value: "DIR", isRequired: true, summary: "the folder to write to" },
    force: { type: "boolean", summary: "overwrite existing files" },
  },
  run: async (args, io) => {
    const out = args.required("out");
    const written: Written[] = [];
    let left = 0;
    await withManagement(io, async (manage) => {
      for (const { promptId } of await listAll(manage, io)) {
        const { name, text } = fileOf(await manage.send("getPrompt", { params: { promptId }, signal: io.signal }));
        const file = join(out, name);
        try {
          await makeFolder(resolve(io.directory, out));
          await writeFile(resolve(io.directory, file), text, { flag: args.flag("force") ? "w" : "wx" });
          written.push({ promptId, file });
        } catch (error) {
          if (codeOf(error) !== "EEXIST") {
            throw new CommandFailure(describeWriteFailure(file, error), { cause: error });
          }
          left += 1;
          io.note(`${file} already exists and was not overwritten.`);
        }
      }
    });
    io.result(written, [...written.map(({ file }) => printableLine(file)), `Wrote ${written.length}.`].join("\n"));
    return left === 0 ? 0 : 1;
  },
};
