import { CommandFailure, type Command } from "../../command.ts";
import { formatTable } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { withManagement } from "../../session.ts";
import { findOwn, findOwnVersion } from "./own-prompts.ts";

const LABEL = /^[a-z0-9][a-z0-9._-]{0,62}$/;

export const promptLabel: Command = {
  summary: "Set, move, delete, or list the labels of your prompt; callers run slug@label",
  usage: "<slug|promptId> [LABEL] [VERSION]",
  details: `VERSION is a version number, a version id, or latest (the default). Without a label, all labels are listed.`,
  session: `$ promptd prompt label tea-poem production 2
production of tea-poem is now version 2.
$ promptd prompt label tea-poem
LABEL       VERSION  ID
production  2        01a19b45-b800-7a3e-8b1d-0c6f5e2a9b77`,
  options: { delete: { type: "boolean", summary: "delete the label" } },
  run: async (args, io) => {
    const [name = "", label, version = "latest"] = args.positionals;
    const { signal } = io;
    await withManagement(io, async (manage) => {
      const own = await findOwn(manage, name, io);
      if (label === undefined) {
        const rows = own.labels.map((one) => [one.label, String(one.version), one.promptVersionId]);
        const table = rows.length === 0 ? "No labels." : formatTable([["LABEL", "VERSION", "ID"], ...rows]);
        return io.result(own.labels, table);
      }
      if (!LABEL.test(label))
        throw new CommandFailure(`"${printableLine(label)}" is not a label: use a-z, 0-9, and dashes.`);
      const params = { promptId: own.promptId, label };
      if (args.flag("delete")) {
        const deleted = await manage.send("deleteLabel", { params, signal });
        return io.result(deleted, `Deleted ${label} of ${own.slug ?? own.promptId}.`);
      }
      const found = await findOwnVersion(manage, own.promptId, { name: version, io });
      const body = { promptVersionId: found.promptVersionId };
      const set = await manage.send("setLabel", { params, body, signal });
      return io.result(set, `${label} of ${own.slug ?? own.promptId} is now version ${found.version}.`);
    });
  },
};

export const promptRollback: Command = {
  summary: "Publish an older version of your prompt again, as the next version",
  usage: "<slug|promptId> <VERSION>",
  details: "VERSION is a version number or id. Versions never change, so this creates a new one.",
  session: `$ promptd prompt rollback tea-poem 2 --note "The third was too long"
Published version 4 of tea-poem, identical to version 2.`,
  options: { note: { type: "string", value: "TEXT", summary: "why; callers see it with the version" } },
  run: async (args, io) => {
    const [name = "", version = ""] = args.positionals;
    await withManagement(io, async (manage) => {
      const own = await findOwn(manage, name, io);
      const found = await findOwnVersion(manage, own.promptId, { name: version, io });
      const body = { promptVersionId: found.promptVersionId, note: args.text("note") };
      const made = await manage.send("rollBackPrompt", { params: { promptId: own.promptId }, body, signal: io.signal });
      if (made.outcome !== "unchanged") {
        return io.result(
          made,
          `Published version ${made.version} of ${made.slug}, identical to version ${found.version}.`,
        );
      }
      const only = own.versions === 1 ? " There is no other version to roll back to." : "";
      io.result(
        made,
        `The latest version of ${made.slug}, ${made.version}, is already identical: nothing was published.${only}`,
      );
    });
  },
};
