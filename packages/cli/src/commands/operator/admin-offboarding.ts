import { resolve } from "node:path";
import { CommandFailure, type Command } from "../../command.ts";
import { describeWriteFailure } from "../../files/file-failure.ts";
import { runAsOperator } from "./run-operator.ts";

const USAGE = "<EMAIL|USERID>";

export const accountExport: Command = {
  summary: "Write everything an account has into one archive (.tar.gz)",
  usage: USAGE,
  details:
    "The archive contains the account, members, keys without secrets, prompts with all versions, runs with inputs and outputs, journal, usage, and stored files. Run this command with access to the server's data directory or bucket; otherwise, files are missing.",
  session: `$ promptd admin account export ada@example.org --out ada.tar.gz
ada.tar.gz: 2330 bytes`,
  options: { out: { type: "string", value: "FILE", isRequired: true, summary: "file to write; it must not exist" } },
  run: async (args, io) => {
    const [user = ""] = args.positionals;
    const file = resolve(io.directory, args.required("out"));
    const written = await runAsOperator(io, (operator) => operator.offboarding.export(user, file)).catch(
      (cause: unknown) => {
        if (!isOfFile(cause, file)) throw cause;
        const isThere = cause.code === "EEXIST";
        const message = isThere ? `${file} already exists. Name another file.` : describeWriteFailure(file, cause);
        throw new CommandFailure(message, { cause });
      },
    );
    io.result(written, `${written.file}: ${written.bytes} bytes`);
  },
};

/** The system names the path when opening a file fails, but names none when writing fails. */
function isOfFile(cause: unknown, file: string): cause is NodeJS.ErrnoException {
  if (!(cause instanceof Error && "syscall" in cause)) return false;
  return "path" in cause ? cause.path === file : cause.syscall === "write";
}

export const accountDelete: Command = {
  summary: "Permanently delete an account and the person it belongs to",
  usage: USAGE,
  details:
    "Keys, tokens, and sessions end at once. The server cancels runs, releases held credits, and removes content within a minute or two. If no server is running, the next one that starts does this. The journal and usage totals remain, under the account id only.",
  session: `$ promptd admin account delete ada@example.org --confirm ada@example.org --prompts remove
The account 01a206a8-a793-77b3-8286-96323e8a6ed0 is deleted; all access to it has ended.`,
  options: {
    confirm: {
      type: "string",
      value: "EMAIL",
      isRequired: true,
      summary: "the account's email address again",
    },
    prompts: {
      type: "string",
      value: "remove|keep",
      isRequired: true,
      summary:
        "remove: unpublish its prompts and erase their templates; keep: leave them published without an author name",
    },
  },
  run: async (args, io) => {
    const [user = ""] = args.positionals;
    const confirm = args.required("confirm");
    const prompts = args.required("prompts");
    if (prompts !== "remove" && prompts !== "keep") {
      throw new CommandFailure(`--prompts must be remove or keep, got "${prompts}".`);
    }
    const deleted = await runAsOperator(io, (operator) => operator.offboarding.delete(user, { confirm, prompts }));
    io.result(deleted, `The account ${deleted.accountId} is deleted; all access to it has ended.`);
    io.note("The server removes its content within a minute or two.");
  },
};
